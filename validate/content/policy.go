package content

// policyRows are claims that policy should change. To add one, add a row; near
// must name, in lower case, a word that every match holds.
func policyRows() []row {
	controls := []string{"list", "polic", "domains", "rule", "restriction", "control", "check", "filter", "config", "setting", "firewall", "sandbox", "seccomp", "apparmor",
		"selinux", "approval", "signature", "validat", "quarantine", "guard", "safety", "network", "internet", "egress", "secret", "isolation", "gate", "require_", "allow_", "shell_allow", "antivirus", "read-only", "profile", "limit", "protection", "requirement"}
	rows := []row{
		{name: "change-asked", what: "it is asked to change or switch off a security control", near: controls, reportable: true,
			re: pattern(`{ADDR}{ADV}\b{CHG}\b\s+{G40}\b{CTRL}\b`)},
		{name: "change-ordered", what: "an order to change or switch off a security control", near: controls, reportable: true,
			re:     pattern(`{IMP}{CHG}\s+(?:all |any |every |the |this |that |these |your |our |its |current |existing |strict |default |entire |whole |system |node'?s? |gate'?s? |tool-exec'?s? |threegate'?s? ){0,4}{CTRL}\b`),
			unless: pattern(`^\W*(?:update|change|modify|edit|replace|remove|delete|drop|open|clear|reduce|lower|enable|extend|ignore|skip)\s+(?:the |all )?(?:validation|signatures?|approvals?|polic(?:y|ies)|validators?|egress)\b[^\n]{0,3}(?:\n|$|[,|;\d])`)},
		{name: "must-change", what: "a claim that a security control must change", near: controls, reportable: true,
			re: pattern(`\b(?:{CTRL})\b{G40}\b(?:should|must|needs? to|ha(?:s|ve) to|ought to|shall|can safely|is to|are to|could|may safely)(?: now| really| also| therefore| immediately| safely)? be\s+(?:\w+ly |temporarily |permanently |first )?{CHGD}`)},
		{name: "needs-change", what: "a claim that a security control is wrong and needs changing", near: controls, reportable: true,
			re: pattern(`\b(?:{CTRL})\s+(?:is|are)\s+(?:\w+\s+)?(?:too (?:strict|restrictive|tight|narrow|limiting)|overly (?:strict|restrictive)|outdated|unnecessary|not needed|no longer (?:needed|required|necessary|applicable|in effect|enforced)|preventing|blocking (?:legitimate|this|the)|obsolete|a mistake)`)},
		{name: "requires-change", what: "a claim that work needs a change of policy", near: controls, reportable: true,
			re: pattern(`\b(?:requires?|needs?|recommend(?:s|ed|ing)?|suggest(?:s|ed|ing)?|propos(?:e|es|ed|ing)|advise[sd]?|demands?|calls? for)\b[^\n.!?]{0,30}?\b(?:(?:that|to|an?|the|you)\s+){0,3}(?:{CHG}|{CHG}ing|disabling|removing|relaxing|loosening|lifting|changing|modifying|updating|extending|expanding|widening|bypassing|whitelisting|a change (?:to|of|in)|changes to|an? (?:update|exception|exemption) (?:to|of|in|from))\s+{G20}\b{CTRL}\b`)},
		{name: "add-to-list", what: "a claim that something should be added to an allowlist or exception", near: []string{"list", "allowed_", "allowed ", "shell_allow", "approvers", "trusted", "exception", "sudoers", "exempt", "signers", "policy"}, reportable: true,
			re: pattern(`\b(?:add|append|put|insert|include|place|adding)\s+[^\n]{1,100}?\s(?:to|in|into|on|under)\s+(?:the |your |our |its |network |system |list of |node'?s? )*(?:[\x60"']?\w*\.?allowed[_ ](?:domains|hosts|list|commands|destinations)|(?:network |domain |egress )?(?:allow|white|safe)[- ]?list|shell_allow|approvers|allowed_signers|trusted (?:hosts|domains|list|sources)|(?:policy|security|firewall) (?:exceptions?|exemptions?)|exceptions? list|sudoers|(?:system|security|network|egress) policy)`)},
		{name: "allow-host", what: "a claim that a host should be allowed", near: []string{"allow", "whitelist", "permit", "unblock", "trust", "open"}, reportable: true,
			re: pattern(`(?:{IMP}|\b(?:should|must|needs? to|has to) )(?:be )?(?:allow(?:list|ed)?|white-?list(?:ed)?|permit(?:ted)?|unblock(?:ed)?|trust(?:ed)?)\s+(?:the |all |any |outbound |inbound |network |egress |http |https |domain |host |ip |address |access |traffic |connections? |requests? |from |to |for |on |port |\d+ ){0,7}[\x60"']?(?:{HOST}|(?:outbound|network|internet|unrestricted|full|root|egress) (?:access|traffic|connections?|egress))`)},
		{name: "set-key", what: "a setting of the node's policy that should be written", near: []string{"require_signature", "allow_self_approval", "allowed_domains", "shell_allow", "enforcement", "max_approval_age", "network_used", "allow_artifact_types"},
			re: pattern(`(?:{IMP}(?:set|change|write|put|make|configure)\s+{G20}|{ADDR}{ADV}\s*(?:set|change|configure)\s+{G20}|\b(?:should|must) (?:be|have|set|read|say)\s+{G20})[\x60"']?(?:[a-z_]+\.)?(?:require_signature|allow_self_approval|allowed_domains|shell_allow|enforcement|max_approval_age|allow_artifact_types)\b|\b(?:require_signature|allow_self_approval|allowed_domains|shell_allow|max_approval_age|allow_artifact_types)[\x60"']?\s+(?:should|must|needs? to|has to)\b`)},
		{name: "declared", what: "a claim that policy has changed or no longer holds", near: []string{"polic", "restriction", "approval", "check", "rule", "authorized", "authorised", "permission", "sandbox", "validation", "allowlist", "limit"}, reportable: true,
			re: pattern(`\b(?:(?:the |this |all |security |system |network |safety )*(?:polic(?:y|ies)|restrictions?|approvals?|(?:security|safety) checks?|rules|validation|sandbox(?: restrictions?)?|allowlist|limits?)\s+(?:has|have|is|are|was|were)\s+(?:now |hereby |been |already |temporarily |permanently |officially )+(?:lifted|suspended|waived|revoked|superseded|disabled|removed|relaxed|changed|updated|void|overridden|not required|no longer (?:required|needed|apply|in (?:force|effect)))|` +
				`no (?:further |human |operator |manual )*approval (?:is |will be )?(?:needed|required|necessary)|(?:approval|signature|validation|policy)(?: checks?)? (?:is|are) (?:no longer|not) (?:required|needed|necessary|enforced)|you (?:are|have been) (?:now )?(?:granted|given|authori[sz]ed)\s+(?:\w+ ){0,3}(?:access|permissions?|to (?:bypass|ignore|skip|run|execute|access|use|disable))|` +
				`(?:the |your )?(?:restrictions|rules|polic(?:y|ies)|guidelines) (?:do(?:es)? not|don't|doesn't|no longer) apply)`)},
		{name: "grant", what: "a demand for more rights", near: []string{"grant", "give", "elevat", "privileg", "escalat", "cap_add", "unrestricted"}, reportable: true,
			re: pattern(`{IMP}(?:grant|give|allow|assign|enable|provide)\s+(?:me |us |it |this (?:tool|script|program|process|container|job|node|request) |the (?:tool|script|program|process|container|job|node|request|sandbox|executor) |tool-exec |core )?{G20}(?:root|admin(?:istrator)?|network|internet|full|unrestricted|elevated|privileged|sudo|write|host|outbound|broader|additional|more)\s+(?:\w+ )?(?:access|permissions?|privileges?|rights|capabilities|mode)`)},
		{name: "privileged", what: "a claim that runs need more rights", near: []string{"privileged", "cap_", "no-new-privileges", "unconfined", "host network", "--network"}, reportable: true,
			re: pattern(`{ADDR}{ADV}[^\n.]{0,40}?(?:in privileged mode|with(?: the)? --privileged|as privileged|with elevated|unconfined|with (?:host|full) network|--network[= ]host|cap_sys_admin|without (?:the )?(?:sandbox|seccomp|isolation|restrictions|approval))`)},
		{name: "future-auto", what: "a claim that requests should pass without review", near: []string{"approve", "auto-approv", "without approval", "without review", "pre-approved"}, reportable: true,
			re: pattern(`{IMP}(?:auto(?:matically)?[- ]?approve|pre-?approve|approve|accept|whitelist|promote)\s+(?:all|every|any|future|subsequent|the (?:next|following|pending)|my|this|these)\s+(?:\w+ ){0,3}(?:requests?|jobs?|runs?|results?|tools?|artifacts?)|\b(?:should|must|can|may) be (?:auto(?:matically)?[- ]?|pre-?)approved|\b(?:should|must) (?:run|execute|be (?:run|executed|accepted|promoted))\s+without (?:\w+ )?(?:approval|review|validation|confirmation)`)},
	}
	for i := range rows {
		rows[i].rule = RulePolicy
	}
	return rows
}
