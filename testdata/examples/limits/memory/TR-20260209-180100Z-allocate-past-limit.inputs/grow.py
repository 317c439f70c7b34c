print("allocating", flush=True)
kept = []
while True:
    kept.append(bytearray(4 << 20))
