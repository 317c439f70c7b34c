try:
    import csv
except ImportError as e:
    print(type(e).__name__, e)
from json import nothing_like_that
