total = 0
def add(n):
    global total
    total += n
add(3)
add(4)
print(total)
