package schemas

var resultRules = []Rule{}
