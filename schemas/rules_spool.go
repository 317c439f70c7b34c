package schemas

var spoolRules = []Rule{}
