parts = ["AK" + "IA", "QX5T", "ZR2M", "7WNC", "4KDP"]
print("region = eu-north-1")
print("access_key_id =", "".join(parts))
print("github_token =", "gh" + "p_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx")
print("db_password = \"" + "Zq7!vLm2" + "#xT9\"")
