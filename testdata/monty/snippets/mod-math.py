import math
print(math.pi, math.e, math.sqrt(2), math.floor(-1.5), math.ceil(1.2), math.gcd(12, 18))
print(math.factorial(10), math.log(100, 10), math.log2(8), math.sin(0), math.hypot(3, 4), math.isnan(math.nan))
math.sqrt(-1)
