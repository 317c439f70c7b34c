"""Builds an index beside its data, as many tools do, and reports from it."""
import dbm.dumb

with open("words.txt") as f, dbm.dumb.open("index", "n") as index:
    for number, line in enumerate(f, 1):
        for word in line.split():
            index[word] = str(number)
with dbm.dumb.open("index", "r") as index, open("/out/index.txt", "w") as out:
    for word in sorted(index.keys()):
        print(word.decode(), index[word].decode(), file=out)
print(open("/in/words.txt").read() == open("words.txt").read())
