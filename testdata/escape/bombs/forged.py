# the codes that the gate itself uses
import os
os._exit(124)
