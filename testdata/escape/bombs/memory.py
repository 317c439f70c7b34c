hoard = []
print("hoarding", flush=True)
while True:
    hoard.append(bytearray(1 << 20))
