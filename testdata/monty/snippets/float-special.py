inf = float('inf')
print(inf, -inf, inf - inf, inf > 1e308)
nan = float('nan')
print(nan, nan == nan, nan != nan)
