import unittest
from datetime import date

from periods import last_day, quarter


class Periods(unittest.TestCase):
    def test_quarter(self):
        for month, want in [(1, 1), (3, 1), (4, 2), (9, 3), (12, 4)]:
            self.assertEqual(quarter(date(2026, month, 1)), want)

    def test_last_day(self):
        self.assertEqual(last_day(2028, 2), date(2028, 2, 29))
        self.assertEqual(last_day(2026, 12), date(2026, 12, 31))
