"""Periods of a calendar."""
from datetime import date, timedelta


def quarter(day: date) -> int:
    """The quarter of a day's year, 1 to 4."""
    return day.month // 3 + 1


def last_day(year: int, month: int) -> date:
    """The last day of a month."""
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
