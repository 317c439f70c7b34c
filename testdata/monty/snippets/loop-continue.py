total = 0
for i in range(20):
    if i % 3:
        continue
    total += i
print(total)
