with open("/out/even.txt", "w") as even, open("/out/od.txt", "w") as odd:
    for n in range(1, 8):
        print(n, file=odd if n % 2 else even)
print("done")
