try:
    1 / 0
finally:
    print('cleaned up')
