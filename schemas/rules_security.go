package schemas

var securityRules = []Rule{}
