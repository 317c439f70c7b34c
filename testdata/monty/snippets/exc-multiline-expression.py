total = (1 +
         2 +
         'three')
