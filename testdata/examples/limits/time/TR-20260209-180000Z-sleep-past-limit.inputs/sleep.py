import time

print("before the limit", flush=True)
time.sleep(600)
print("after the limit")
