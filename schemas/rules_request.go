package schemas

var requestRules = []Rule{}
