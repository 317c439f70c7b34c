from datetime import date
print(date(2024, 2, 29))
date(2023, 2, 29)
