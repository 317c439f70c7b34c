package content

import "github.com/threegate/tool-exec/validate/text"

// foreignRows find orders to drop or to show instructions in languages that set no spaces between
// words. For other languages phrases.txt has them.
func foreignRows() []row {
	rows := []row{
		{rule: RuleOverride, name: "chinese",
			near: []string{"忽略", "无视", "忘记", "忽視", "無視", "忘掉", "不要理会"}, reach: [2]int{60, 90},
			re: pattern(fold(`(?:忽略|无视|忘记|忽視|忘掉|不要理会)[^\n。]{0,16}(?:指令|指示|说明|提示|规则|命令|內容|内容|要求)`))},
		{rule: RuleOverride, name: "chinese-before",
			near: []string{"忽略", "无视", "忘记", "忘掉"}, reach: [2]int{60, 90},
			re: pattern(fold(`(?:忽略|无视|忘记|忘掉)[^\n。]{0,10}(?:之前|以上|上面|先前|前面)[^\n。]{0,10}(?:一切|所有|对话|内容|的话)`))},
		{rule: RuleTheft, name: "chinese-prompt",
			near: []string{"系统提示", "提示词", "系统指令", "你的指令", "初始指令"}, reach: [2]int{90, 90},
			re: pattern(fold(`(?:显示|告诉我|透露|输出|打印|重复|泄露|说出|展示)[^\n。]{0,12}(?:系统提示|提示词|系统指令|你的指令|初始指令)`))},
		{rule: RuleTheft, name: "japanese-prompt",
			near: []string{"プロンプト", "システム指示", "初期指示", "あなたの指示"}, reach: [2]int{30, 90},
			re: pattern(fold(`(?:システムプロンプト|システム指示|初期指示|あなたの指示)[^\n。]{0,14}(?:表示|教え|見せ|出力|開示|明か)`))},
		{rule: RuleTheft, name: "korean-prompt",
			near: []string{"프롬프트", "시스템 지시", "초기 지시"}, reach: [2]int{40, 90},
			re: pattern(fold(`(?:시스템 ?프롬프트|시스템 ?지시|초기 ?지시)[^\n.]{0,16}(?:보여|알려|출력|공개|말해)`))},
		{rule: RuleOverride, name: "japanese", near: []string{"無視", "忘れ"}, reach: [2]int{90, 30},
			re: pattern(fold(`(?:指示|命令|ルール|プロンプト|規則|内容|指令)[をはも][^\n。]{0,14}(?:無視|忘れ)`))},
		{rule: RuleOverride, name: "korean", near: []string{"지시", "명령", "지침", "규칙", "지시"}, reach: [2]int{10, 90},
			re: pattern(fold(`(?:지시|명령|지침|규칙)[^\n.]{0,16}(?:무시|잊)`))},
		{rule: RuleOverride, name: "vietnamese", near: []string{"bỏ qua", "quên", "phớt lờ"}, reach: [2]int{10, 90},
			re: pattern(fold(`(?:bỏ qua|quên|phớt lờ)[^\n.]{0,24}(?:chỉ dẫn|chỉ thị|hướng dẫn|quy tắc|mệnh lệnh)`))},
		{rule: RuleOverride, name: "thai", near: []string{"คาแนะนา", "คาสัง", "คำสั่ง"}, reach: [2]int{90, 60},
			re: pattern(fold(`(?:ไม่สนใจ|เพิกเฉย|ละเว้น|อย่าไปสนใจ|ลืม)[^\n]{0,30}(?:คำสั่ง|คําสั่ง|คําแนะนํา|คำแนะนำ)`))},
	}
	for i := range rows {
		for k, w := range rows[i].near {
			rows[i].near[k] = fold(w)
		}
	}
	return rows
}

func fold(s string) string { return string(text.Fold([]byte(s)).Text) }
