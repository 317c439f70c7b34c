parts = ["AK" + "IA", "QX5T", "ZR2M", "7WNC", "4KDP"]
print("region = eu-north-1")
print("access_key_id =", "".join(parts))
