from datetime import datetime
t = datetime(2026, 3, 9, 7, 5, 2)
print(t.strftime('%Y-%m-%d %H:%M:%S %j %A %B'))
print(datetime.fromisoformat('2026-03-09T07:05:02'))
