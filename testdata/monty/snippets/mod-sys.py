import sys
print(sys.version, sys.version_info[0])
