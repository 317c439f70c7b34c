package secrets

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// value is what stands for a password in the patterns below: in quotes or not.
const value = `(?:"([^"\n]{6,})"|'([^'\n]{6,})'|([^\s"',;<>(){}\[\]]{6,}))`

// bare is a password without quotes.
const bare = `["']?([^\s"'<>()]{6,})`

// label is a name that says that a password, a token or a key is its value.
const label = `(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api_?key|auth_?key|access_?key|private_?key|credentials?)`

// labels are keywords of which every label holds one.
var labels = []string{"pass", "pwd", "secret", "token", "apikey", "api_key", "authkey", "auth_key", "accesskey", "access_key", "privatekey", "private_key", "credential"}

const uuid = `[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`

// kindRules are kinds of secrets that a pattern is needed for: what stands around
// them says what they are.
func kindRules() []rule {
	re := regexp.MustCompile
	return []rule{
		// Keys and what they are kept in.
		{id: "openvpn-static-key", keywords: []string{"openvpn static key"}, re: re(`-----BEGIN OpenVPN Static key V1-----((?:\s|\\[nr])*[0-9a-f]{32}(?:[0-9a-f\s\\nr]{16,}))`)},
		{id: "ssh2-private-key", keywords: []string{"ssh2 encrypted private key"}, re: re(`BEGIN SSH2 ENCRYPTED PRIVATE KEY ----([^-]{24,})`)},
		{id: "jwk-private-key", keywords: []string{`"kty"`}, re: re(`(\{[^{}]*?"kty"\s*:\s*"(?:RSA|EC|OKP|oct)[^{}]*?"[dk]"\s*:\s*"[\w-]{20,}[^{}]*|\{[^{}]*?"[dk]"\s*:\s*"[\w-]{20,}"[^{}]*?"kty"[^{}]*)`)},
		{id: "ansible-vault", keywords: []string{"$ansible_vault;"}, re: re(`\$ANSIBLE_VAULT;[\d.]+;AES\d*[^\s\\]{0,40}((?:\s|\\[nr])+[0-9a-f]{16}[0-9a-f\s\\nr]{16,})`)},
		{id: "jwe", keywords: []string{"eyj"}, re: re(`\b(eyJ[\w-]{10,}\.[\w-]{20,}\.[\w-]{12,}\.[\w-]{16,}\.[\w-]{16,})`)},
		{id: "wallet-phrase", near: saidNear(4*24 + 1 + 3 + 2), keywords: []string{"mnemonic", "seed", "recovery", "secret phrase", "backup phrase", "wallet"},
			re: re(`(?i)\b(?:mnemonic|seed|recovery|secret phrase|backup phrase|wallet)[\w ]{0,24}["']?\s{0,3}(?:[:=]|\bis\b|=>)\s{0,3}["']?((?:(?:\d{1,2}[.)] ?)?[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})\b`)},
		{id: "one-time-password-seed", keywords: []string{"otpauth"}, re: re(`(?i)otpauth(?:://|%3a%2f%2f)[^\s"']*?secret(?:=|%3d)([a-z2-7]{16,})`)},
		{id: "one-time-password-seed", near: saidNear(len(" setup key") + 1 + 3 + 2), keywords: []string{"otp", "2fa", "mfa", "authenticator"},
			re: re(`(?i)\b(?:totp|2fa|mfa|otp|authenticator)[ _-]?(?:secret|seed|key|token|setup key)?["']?\s{0,3}(?:[:=]|is\b)\s{0,3}["']?([A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15}[A-Z2-7]{0,4})\b`), check: func(m found) bool {
				return strings.ToUpper(m.secret) == m.secret || strings.ContainsAny(m.secret, "234567")
			}},
		{id: "recovery-codes", keywords: []string{"recovery code", "backup code", "recovery_code", "backup_code", "scratch code", "scratch_code", "rescue code", "rescue_code", "one-time code"},
			re:    re(`(?i)\b(?:recovery|backup|scratch|rescue|one-time)[ _]codes?[^\n:=]{0,40}[:=](?:[\s"'\[,*-]|\\n|\d{1,2}[.)] )*([a-z0-9]{4,10}(?:[- ][a-z0-9]{4,10}){0,3}(?:[\s"',*-]|\\n)+(?:\d{1,2}[.)] )?[a-z0-9]{4,10}\b)`),
			check: func(m found) bool { return hasDigits(m.secret, 2) }},

		// Addresses that are secrets, or hold one.
		{id: "webhook", keywords: []string{"/webhooks/", "hooks.zapier.com", "maker.ifttt.com", ".make.com/", "outlook.office.com/webhook", "webhook.office.com", "hooks.slack.com"},
			re: re(`(?i)discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(\d{15,20}/[\w-]{30,})|hooks\.zapier\.com/hooks/catch/(\d{3,}/\w{5,})|maker\.ifttt\.com/trigger/[\w{}-]+/(?:json/)?with/key/([\w-]{16,})|hook\.[\w.]*make\.com/([a-z0-9]{24,})|office\.com/webhook\w*/([\w-]{36}@[\w-]{36}/[^\s"']{20,})|hooks\.slack\.com/(?:services|workflows|triggers)/([A-Z0-9]{6,}/[A-Z0-9]{6,}/[\w/]{16,})`)},
		{id: "url-parameter", near: valueNear, keywords: []string{"access_token=", "api_key=", "apikey=", "auth_token=", "?token=", "&token=", "?code=", "&code=", "?key=", "&key=", "?sig=", "&sig=", "signature=", "#token=", "#code=", "#key=", "#sig=", "refresh_token=", "id_token=", "client_secret=", "private_token=", "job_token="},
			re:    re(`(?i)[?&#](?:access_token|api_?key|auth_token|token|code|key|sig|signature|x-amz-signature|x-goog-signature|refresh_token|id_token|client_secret|private_token|job_token)=([\w%.+/~-]{24,}={0,2})`),
			check: func(m found) bool { return classes(m.secret) >= 2 && hasDigits(m.secret, 3) && entropy(m.secret) > 3 }},
		{id: "url-token", near: userNear, keywords: []string{"://"}, re: re(`://([A-Za-z0-9_-]{20,})(?::x-oauth-basic)?@[\w.\[-]`), entropy: 3.5, check: func(m found) bool { return hasDigits(m.secret, 2) }},
		{id: "telegram-token", keywords: []string{"/bot"}, re: re(`/bot(\d{8,10}:[\w-]{33,38})\b`), entropy: 4},

		// Passwords on command lines.
		{id: "command-line-password", keywords: []string{"sshpass", "passin", "passout", "pass:", "ldapsearch", "ldapmodify", "ldapadd", "smbclient", "mysql", "redis-cli", " login ", "net use", "net user", "htpasswd", "sqlplus", "jdbc:oracle", "ipmitool", "mariadb", "mongo"}, near: flagNear,
			re: re(`(?i)\bsshpass\s+-p\s*` + bare + `|\bpass(?:in|out)?\s+["']?pass:` + bare + `|\bldap\w+\s[^\n]{0,300}?\s-w\s+` + bare + `|\bsmbclient\s[^\n]{0,300}?[-=U ]\w+%` + bare +
				`|\b(?:mysql\w*|mariadb\w*|mongo\w*)\b[^\n]{0,300}?\s-p` + bare + `|\bredis-cli\b[^\n]{0,300}?\s-a\s+` + bare + `|\blogin\s[^\n]{0,300}?\s-p\s+` + bare + `|\bnet\s+use\s[^\n]{0,300}?\s([^\s/]\S{5,})\s+/user|\bnet\s+user\s+[\w.]+\s+(\S{6,})\s+/` +
				`|\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+` + bare + `|\bsqlplus\s+[\w./-]+?/([^\s@/]{6,})@|jdbc:oracle:\w+:\w+/([^\s@/]{6,})@|\bipmitool\s[^\n]{0,300}\s-P\s+` + bare),
			check: plausiblePassword},

		{id: "command-line-password", keywords: []string{"7z a ", "7z x ", "7z e ", "7z l ", "7z t ", "7za ", "7zz ", "openssl enc", "freerdp", "sqlcmd", "mosquitto_", "lftp", "keytool", "jarsigner", "cypher-shell", "cqlsh", "ssh-keygen", "impacket", "psexec", "secretsdump"}, near: flagNear,
			re: re(`(?i)\b7z[az]?[^\n|;]{0,300}?\s-p` + bare + `|\bopenssl\s+enc[^\n|;]{0,300}?\s-k\s+` + bare + `|freerdp\w*[^\n|;]{0,300}?\s/p:` + bare + `|\b(?:sqlcmd|mosquitto_\w+)[^\n|;]{0,300}?\s(?-i:-P)\s*` + bare +
				`|\blftp[^\n|;]{0,300}?\s-u\s+[^\s,]+,` + bare + `|\s-(?:store|key|src|dest)\w*pass\s+` + bare + `|\b(?:cypher-shell|cqlsh)[^\n|;]{0,300}?\s-p\s+` + bare + `|\bssh-keygen[^\n|;]{0,300}?\s(?-i:-N)\s*` + bare + `` +
				`|\b(?:impacket-\w+|\w*(?:psexec|wmiexec|secretsdump)(?:\.py)?)\s[^\n|;]{0,300}?[\w./-]+:([^\s@/]{6,})@`),
			check: plausiblePassword},
		{id: "command-line-password", keywords: []string{"-pass", "add_user"}, re: re(`(?i)\s--?(?:\w+-)?pass(?:word|phrase|wd)?\s+` + bare + `|\badd_user\s+\w+\s+` + bare), check: plausiblePassword},
		{id: "command-line-password", keywords: []string{"zip -p"}, re: re(`zip -P\s*` + bare), check: plausiblePassword},
		{id: "command-line-key", keywords: []string{"mc alias set", "mc config host add", "configure set "}, re: re(`\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S+\s+\S+\s+["']?(\S+\s+["']?[\w/+=-]{16,})|\bconfigure\s+set\s+["']?\w*(?:secret|token|key)\w*["']?\s+["']?([\w/+=-]{16,})`), entropy: 3.5},
		{id: "login-call", keywords: []string{"auth", ".login(", "credential"}, near: callNear, re: re(`(?i)(?:\.login\(|\b\w*auth\s{0,2}=?\s{0,2}\(|\b\w*Credentials?\w*\()\s{0,4}(?:\w+\s{0,2}=\s{0,2})?["'][^"'\n]{1,64}["']\s{0,2},\s{0,4}(?:\w+\s{0,2}=\s{0,2})?(?:"([^"\n]{6,128})"|'([^'\n]{6,128})')\s{0,2}[,)]`), check: plausiblePassword},
		{id: "key-call", keywords: []string{"jwt.", "hmac", "fernet(", "aes.new(", "createcipheriv(", "secretkeyspec("}, near: callNear, re: re(`(?i)(?:\bjwt\.(?:sign|verify|encode|decode)\([^"'\n]{1,80},\s{0,4}|\bhmac(?:\.new)?\(\s{0,4}|createHmac\([^,\n]{1,20},\s{0,4}|\bfernet\(\s{0,4}|\bAES\.new\(\s{0,4}|createCipheriv\([^,\n]{1,24},\s{0,4}|SecretKeySpec\(\s{0,4})b?(?:"([^"\s]{16,})"|'([^'\s]{16,})')`), entropy: 3.3, check: func(m found) bool { return hasDigits(m.secret, 2) && turns(m.secret) > 3 }},

		{id: "piped-password", keywords: []string{"password-stdin", "chpasswd", "sudo -s", "password-command"}, re: re(`(?i)\becho\s+(?:-n\s+)?["']?(?:\w+:)?([^\s"'|]{6,})["']?\s*\|\s*(?:sudo\s+(?:-S|chpasswd)|chpasswd|[^\n|]*--password-stdin)|--password-command[\s=]+["']?echo\s+` + bare), check: plausiblePassword},

		// Passwords in other languages than those of "name = value".
		{id: "sql-password", keywords: []string{"identified ", "password '", "password n'", `password "`, "password('", `password("`, "password = n'"},
			re:    re(`(?i)(?:\bidentified\s+(?:with\s+\S+\s+)?by\s+|\bpassword\s*=?\s*(?:\bpassword\s*)?)\(?\s*N?(?:'([^'\n]{4,})'|"([^"\n]{4,})")`),
			check: plausiblePassword},
		{id: "password-element", keywords: append([]string{"keymaterial"}, labels...),
			near: elementNear,
			re: re(`(?i)(?:` + label + `|keymaterial)[\w.-]{0,20}["']?>\s{0,4}(?:<value>\s{0,4})?([^\s<>]{6,})\s{0,4}</|(?:` + label + `)[\w.-]{0,20}["']\s{0,6},?\s{0,40}["']?(?:value|val|default)["']?\s{0,4}[:=]\s{0,4}` + value +
				`|\bname\s*:\s*["']?[\w.-]*(?:_PASS|` + label + `)[\w.-]{0,20}["']?(?:\s|\\n){1,20}value\s*:\s*` + value + `|` + label + `[\w.-]{0,20}"\s*\{[^{}]{0,300}?\bdefault\s*=\s*"([^"\n]{6,})"`),
			check: plausiblePassword},
		{id: "password-said", keywords: []string{"password is", "passphrase is", "passcode is", "password was", "pwd is", "password for", "password to", "password of"},
			re: re(`(?i)\b(?:pass(?:word|phrase|code)|pwd)(?:\s+(?:for|to|of)\s[^\n:=]+?)?\s+(?:is|was|has been set to|will be|=|:)\s*(?:now\s+)?[:"'\x60]{0,2}\s?([^\s"'\x60<>()]{6,})`), check: strongPassword},
		{id: "password-said", keywords: []string{"password"}, near: spacedNear(12), re: re(`(?i)\bpassword\s+["'\x60]?([^\s"'\x60<>()=:]{12,64})`), check: func(m found) bool { return hasDigits(m.secret, 2) && strongPassword(m) }},
		{id: "password-below", keywords: []string{"password"}, near: belowNear, re: re(`(?i)\bpassword[^\n:]{0,80}:[ \t]*(?:\r?\n[ \t]*){1,3}([\w+/=!@#$%^&*.-]{8,})(?:[\s"']|$)`), check: func(m found) bool { return strongPassword(m) || hasDigits(m.secret, 4) && len(m.secret) >= 16 }},
		// The last column of a table, as databases print it; its first row tells.
		{id: "password-column", keywords: []string{"password", "passwd", "pwd"}, near: columnNear,
			re:    re(`(?i)(?:[|\t]|[ ]{2})[ ]{0,40}\w{0,20}(?:password|passwd|pwd)[ \t|]{0,40}\r?\n(?:[ \t|+=:-]{3,200}\r?\n)?[^\n]{0,200}[|\t ]([^\s|]{8,64})[ \t|]{0,40}(?:\r?\n|$)`),
			check: strongPassword},
		{id: "password-elsewhere", keywords: []string{"passwort", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord", "has\u0142o", "has\u0141o", "l\u00f6senord", "l\u00d6senord", "parola", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u041f\u0430\u0440\u043e\u043b\u044c", "\u041f\u0410\u0420\u041e\u041b\u042c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638"},
			re:    re(`(?i)(?:passwort|kennwort|mot de passe|contraseña|contrasena|senha|wachtwoord|hasło|lösenord|parola|пароль|密码|密碼|パスワード|비밀번호)(?:[ \t][^\n:=：,.;]{1,40})?["']?\s{0,3}(?:[:=：]|\b(?:ist|es|est|is|é)\b|是)\s{0,3}` + value),
			check: plausiblePassword},
		{id: "password-index", keywords: labels, near: indexNear,
			re: re(`(?i)` + label + `["']\s?\]\s{0,4}=\s{0,4}(?:"([^"\n]{6,})"|'([^'\n]{6,})')|` + label + `\(\s{0,4}(?:"([^"\n]{6,})"|'([^'\n]{6,})')\s{0,4}\)`), check: plausiblePassword},
		{id: "pass-assignment", near: assignedNear(5), keywords: []string{"pass", "pw"},
			re:    re(`(?:\b|_)(?i:pass|pw)["']?\s{0,4}(?:=>|:=|=)\s{0,4}` + value + `|[a-z]P(?:ass|w)["']?\s{0,4}(?:=>|:=|=)\s{0,4}` + value + `|(?:\b|_)(?i:pass|pw)["']?\s{0,2}:\s{0,4}(?:"([^"\n]{6,})"|'([^'\n]{6,})')|(?i:\b(?:user(?:name)?|login|account)\b)[^\n]{1,200}\b(?i:pass|pw)\s{0,2}:\s{0,4}` + value + `|(?i)sshpass=` + value),
			check: plausiblePassword},
		{id: "pass-assignment", near: assignedNear(5), keywords: []string{"pass", "pw"}, re: re(`\b(?:\w+_(?i:pass)|pass|(?:\w+_)?(?i:pw))["']?\s{0,2}:\s{1,4}` + bare), check: strongPassword},
		{id: "named-credential", near: assignedNear(assignReach), keywords: []string{"_token", "_key", "_pat", "_secret", "_auth", "_apikey", "_authkey", "_license", "_credential", "_signature", "_bearer", "_salt'"},
			re:    re(`(?:^|[^\w$])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:TOKEN|KEY|PAT|SECRET|AUTH|APIKEY|AUTHKEY|LICENSE|CREDENTIALS?|SIGNATURE|BEARER)(?:_\d)?["']?\s{0,3}(?::=|[:=])\s{0,3}(?:"([^"\s]{16,512})"|'([^'\s]{16,512})'|([^\s"',;<>(){}\[\]]{16,512}))|_(?:KEY|SALT)'\s{0,3},\s{0,3}'([^'\n]{40,128})'`),
			check: namedCredential},
		{id: "declared-password", near: declaredNear, keywords: labels,
			re:    re(`(?i)` + label + `["']?(?:\s{0,2}:\s{0,2}[&\w<>\[\]'?]{1,24}\s{0,2}=\s{0,2}(?:"([^"\n]{6,128})"|'([^'\n]{6,128})')|\s{0,3}[:=]\s{0,3}["']?\$\{\w+:?[-=]([^}\s]{6,128})\}|\s{0,2}:\s{0,3}(?:!!?\w+\s{1,3}|[>|][+-]?\d?[ \t]*\r?\n\s{0,12})["']?([^\s"']{6,128})|["']\s{0,3},\s{0,3}(?:"([^"\s]{8,128})"|'([^'\s]{8,128})')\s{0,3}\))`),
			check: func(m found) bool { return strongPassword(m) || plausiblePassword(m) && hasDigits(m.secret, 2) }},
		{id: "inserted-password", keywords: []string{"insert into"}, re: re(`(?i)\binsert\s+into\s[^;\n]{0,120}\b(?:pass\w*|pwd|token|secret|api_?key)\b[^;\n]{0,80}\bvalues\s{0,3}\([^;\n]*?'([^'\s]{8,128})'`), check: strongPassword},
		{id: "env-line", keywords: []string{"env"}, near: envNear, re: re(`(?m)(?:^|[\s"'=])ENV[\s+]+\w*(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|KEY|PWD)\s+` + bare), check: strongPassword},
		{id: "login-pair", keywords: []string{"login", "cred", "user"}, near: pairNear, re: re(`(?i)\b(?:cred(?:ential)?s?["']?\s{0,3}[:=]\s{0,3}["']?[\w.@-]{2,40}:|(?:login|user(?:name)?)\s{0,2}[:=]?\s{1,2}(?:with\s|as\s)?[\w.@-]{2,40}\s{1,2}/\s{1,2})([^\s"'<>:/]{8,})`), check: func(m found) bool { return hasDigits(m.secret, 2) && strongPassword(m) }},

		// Configuration of devices and servers.
		{id: "device-secret", keywords: []string{"snmp-server community", "requirepass", "masterauth", "secret 0 ", "secret 5 ", "secret 8 ", "secret 9 ", "password 7 ", "password 5 ", "password 0 ", "psk \"", "psk '", "rpcpassword", "auth-user-pass", "key-string", "tacacs-server key", "radius-server key", "enable password", "enable secret", "snmp community", "radius secret", "/user:", "password 51:b:", "bindpw ", "rootpw", "root-password", "change_password", "wifi:", "http -"},
			re: re(`(?i)\bsnmp-server\s+community\s+` + bare + `|\b(?:requirepass|masterauth|rpcpassword)\s+` + bare + `|\b(?:secret|password)\s+[05789]\s+` + bare + `|\bPSK\s+["']([^"'\n]{6,})|(?:key-string|-server\s+key)\s+(?:\d\s+)?` + bare +
				`|\bpassword\s+51:b:([0-9a-f]{32,})|\benable\s+(?:password|secret)\s+(?:\d\s+)?` + bare + `|\b(?:snmp\s+community|radius\s+secret)\s+` + bare + `|\bnet\s+use\s[^\n]*?/user:\S+\s+([^\s/]{6,})|\bbindpw\s+` + bare + `|\brootpw\s+(?:--plaintext\s+)?` + bare + `|\broot-password\s+password\s+` + bare + `|\bchange_password\s+\w+\s+` + bare + `|\bwifi:[^\n]{0,80}?\bP:([^;\s]{6,});|\bhttps?\s+(?:-a|--auth)[\s=]+["']?\w+:` + bare),
			check: func(m found) bool {
				return plausiblePassword(m) || strings.HasPrefix(m.secret, "$") && len(m.secret) > 20 || hasDigits(m.secret, 3) && len(m.secret) >= 12
			}},
		{id: "gossip-key", keywords: []string{"encrypt"}, near: assignedNear(assignReach), re: re(`\bencrypt["']?\s{0,4}[:=]\s{0,4}"([A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{43}=)"`)},
		{id: "secure-string", keywords: []string{"convertto-securestring"}, re: re(`(?i)ConvertTo-SecureString\s+(?:-String\s+)?["']([^"'\n]{6,})["']`), check: plausiblePassword},
		{id: "app-key", keywords: []string{"base64:"}, re: re(`(?i)key["']?\s{0,4}(?:=>|[:=])\s{0,4}["']?base64:([A-Za-z0-9+/]{40,}={0,2})`)},
		{id: "docker-auth", keywords: []string{`"auth"`, "_auth", "_password"}, near: assignedNear(assignReach), re: re(`(?:"auth"\s{0,4}:\s{0,4}"|_auth\s{0,4}=\s{0,4}"?|_password\s{0,4}=\s{0,4}"?)([A-Za-z0-9+/]{12,}={0,2})`), check: holdsPair},
		{id: "pgpass", keywords: []string{":5432:", ":5433:", ":6432:", ":*:"}, re: re(`(?m)(?:^|[\s"'])[\w.*-]+:(?:\d{4,5}|\*):[\w*-]+:[\w.*-]+:([^\s:"']{6,})`), check: plausiblePassword},

		// Headers and cookies.
		{id: "session-cookie", near: operatorNear, keywords: []string{"cookie", "phpsessid", "jsessionid", "asp.net_sessionid", "connect.sid", "laravel_session", "sessionid"},
			re:    re(`(?i)\bcookie["']?\s{0,3}[:=][^\n]{0,300}?[\w.-]{0,60}(?:sess|sid|auth|token|jwt|login|remember|identity)[\w.-]*=["']?([\w%.+/=~-]{16,})|\b(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|laravel_session|sessionid)["']?\s{0,2}[:=]\s{0,2}["']?([\w%.+/~-]{20,})`),
			check: func(m found) bool { return classes(m.secret) >= 2 && hasDigits(m.secret, 2) && entropy(m.secret) > 3 }},
		{id: "authorization-header", keywords: []string{"authorization"},
			re: re(`(?i)authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:digest\s([^\n]{0,300}?response="?[0-9a-f]{32,})|(?:[\w-]+\s{1,3})?([\w.+/~-]{20,}={0,2}))`),
			check: func(m found) bool {
				return classes(m.secret) >= 2 && hasDigits(m.secret, 2) && entropy(m.secret) > 3 && !placeholderPair(m.secret)
			}},
		{id: "bearer-token", keywords: []string{"bearer"}, near: spacedNear(20), re: re(`(?i)\bbearer\s{1,3}["']?([\w.~+/-]{20,}={0,2})`), entropy: 3.3, check: func(m found) bool {
			return hasDigits(m.secret, 2) && classes(m.secret) >= 2 && !digestLike.MatchString(m.secret)
		}},
		{id: "basic-credentials", keywords: []string{"basic"}, near: spacedNear(12), re: re(`(?i)\bbasic\s{1,3}["']?([A-Za-z0-9+/]{12,}={0,2})`), check: func(m found) bool { return holdsPair(m) && !placeholderPair(m.secret) }},
		{id: "labelled-hex", near: hexNear, keywords: []string{"key", "token", "secret"},
			re: re(`(?i)(?:(?:(?:api|access|auth|secret|private|client|signing|encryption|encrypt|master|license|subscription|hmac|jwt|session|webhook|cookie|deploy|service|admin|storage|account|integration)[ _.-]?(?:key|token|secret)|\bsecret|\btoken)s?["']?\s{0,4}(?:is\b|=>|:=|[:=])\s{0,4}["']?|\bpriv(?:ate)?[ _]?key\s{1,4})((?:0x)?[0-9a-f]{32,})(?:[^0-9a-z]|$)`), entropy: 2.7},
		{id: "labelled-uuid", near: uuidNear, keywords: []string{"key", "token", "secret"},
			re:    re(`(?i)(?:\b(?:consul|nomad|vault|server|api|access|auth|bearer|account|client|service|deploy|admin|app|bot|user|npm|heroku|snyk|postmark)[\w .-]{0,12})?(?:secret[_ -]?id|api[_ -]?key|access[_ -]?key|client[_ -]?secret|secret[_ -]?key|\bsecret|_secret|_token|auth[_ -]?token|(?:consul|nomad|vault|server|api|access|bearer|account|client|service|deploy|admin|app|bot)[ -]token|\bx-[\w-]{0,24}token)["']?\s{0,12}(?:is\b|=>|[:=]|\s)\s{0,12}["']?(` + uuid + `)`),
			check: func(m found) bool { return !passingToken.MatchString(m.match) }},

		// Hashes of passwords.
		{id: "password-hash", keywords: []string{"$apr1$", "$2a$", "$2b$", "$2y$", "$6$", "$5$", "$argon2", "$y$", "$scrypt$", "{sha", "{ssha", "{crypt", "pbkdf2", "scram-sha-", ":::", "$p$b", "$krb5", "$dcc2$", "bcrypt_sha256$", "{pbkdf2"},
			re: re(`(\$apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|\$[56]\$(?:rounds=\d+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,}|\$y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{8,}\$[./A-Za-z0-9]{40,}|\$argon2\w{1,2}\$[^\s"']{20,}|\$scrypt\$[^\s"']{20,}|\{(?i:S?SHA\d*|CRYPT|PBKDF2[\w-]*)\}[A-Za-z0-9+/$.]{20,}={0,2}|\bpbkdf2[_:-]sha\d+[$:]\d+[$:][^\s"'$:]{4,}[$:][A-Za-z0-9+/]{20,}={0,2}|SCRAM-SHA-\d+\$\d+:[^\s"']{40,}|\w[\w.$ -]{0,40}:\d{1,6}:[0-9a-fA-F]{32}:[0-9a-fA-F]{32}:::|\$P\$B[./A-Za-z0-9]{30}|\$krb5\w+\$[^\s"']{20,})`)},
		{id: "mysql-password-hash", keywords: []string{"mysql", "password", "identified", "authentication_string"}, near: starNear, re: re(`(\*[0-9A-F]{40})\b`)},
	}
}

// passingToken are names of tokens that let nobody in.
var passingToken = regexp.MustCompile(`(?i)(?:page|next|continuation|csrf|xsrf|request|cancel\w*|idempotency|correlation|sync|resume|cursor)[ _-]?token`)

// passingKey are names of keys and tokens in capitals that let nobody in.
var passingKey = regexp.MustCompile(`(?:^|_|\b)(?:PUB(?:LIC)?|CACHE|PRIMARY|FOREIGN|PARTITION|SORT|ROUTING|OBJECT|GROUP|SHARD|NEXT|PAGE|CURSOR|CSRF|XSRF|IDEMPOTENCY|CORRELATION|SYNC|RESUME|VERIFY|PUBLISHABLE|SITE|LOOKUP|INDEX|MERGE|DEDUP)_`)

// namedCredential tells what a name in capitals promises from a path, a date or words.
func namedCredential(m found) bool {
	s := m.secret
	if passingKey.MatchString(m.match[:strings.Index(m.match, s)]) || strings.Contains(s, "://") || uuidLike.MatchString(s) || dateLike.MatchString(s) || pathLike.MatchString(s) || codeLike.MatchString(s) {
		return false
	}
	if digestLike.MatchString(s) {
		return entropy(s) > hexEntropy
	}
	return hasDigits(s, 2) && entropy(s) > 3.3 && turns(s) > 4
}

// strongPassword tells a password from the words of a sentence.
func strongPassword(m found) bool {
	s := strings.TrimRight(m.secret, ".,;!?")
	return len(s) >= 8 && (classes(s) >= 3 && hasDigits(s, 1) || randomLetters(s)) && plausiblePassword(found{secret: s})
}

// hasDigits says whether s has n digits at least.
func hasDigits(s string, n int) bool {
	for i := 0; i < len(s) && n > 0; i++ {
		if s[i] >= '0' && s[i] <= '9' {
			n--
		}
	}
	return n <= 0
}

// holdsPair says whether base64 holds a name and a password.
func holdsPair(m found) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(m.secret, "="))
	return err == nil && (strings.Contains(string(b), ":") || strings.Contains(m.match, "_password")) && len(b) >= 8
}

// placeholderPair says whether base64 holds a name and what stands for a password.
func placeholderPair(s string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	_, password, ok := strings.Cut(string(b), ":")
	return err == nil && ok && placeholder(password)
}
