words = ['pear', 'Apple', 'fig', 'äpfel', 'apple']
print(sorted(words), sorted(words, key=str.lower) if False else sorted(words, key=lambda w: w.lower()))
print('abc' < 'abd', 'Z' < 'a', 'a' * 3 + 'b')
