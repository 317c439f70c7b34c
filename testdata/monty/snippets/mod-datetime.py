from datetime import date, datetime, timedelta, timezone
d = date(2024, 2, 28)
print(d, d + timedelta(days=2), d.isoformat(), d.weekday(), (date(2024, 12, 25) - d).days)
t = datetime(2026, 11, 20, 13, 45, 30, 123)
print(t, t.isoformat(), t + timedelta(hours=12), t.replace(year=2000), repr(t))
print(timedelta(days=1, seconds=3661), timedelta(seconds=-1), timedelta(hours=36).total_seconds())
print(datetime(2026, 1, 1, tzinfo=timezone.utc), timezone(timedelta(hours=5, minutes=30)))
