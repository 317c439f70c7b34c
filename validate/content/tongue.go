package content

import (
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/text"
)

// tongue holds the words by which a language gives the orders that a result
// must not give. Words are parts of words; those of one list are separated by
// commas. Verbs stand in the forms that ask, not in those that report.
type tongue struct {
	name               string
	run, object, fetch string
	ignore, orders     string
	control, change    string
}

var tongues = []tongue{
	{name: "German", run: "führe ,führen sie,führt bitte,starte ,starten sie,rufe ,ausführen:,musst du ausführen,sofort ausführen,bitte ausführen",
		object: "befehl,kommando,skript,programm,code aus,folgenden code,diesen code,datei,paket",
		fetch:  "lade ,laden sie,öffne ,öffnen sie,rufe ,besuche ,besuchen sie,folge ,herunterladen,klicke,klicken sie",
		ignore: "ignoriere,ignorieren sie,vergiss,vergessen sie,missachte", orders: "anweisung,befehle,regeln,vorgaben,instruktion",
		control: "richtlinie,allowlist,freigabe,genehmigung,validierung,prüfung,sandbox,firewall,sicherheitsregel", change: "sollte,muss ,müssen,nicht mehr nötig,nicht mehr erforderlich,deaktivier,abgeschaltet,aufgehoben"},
	{name: "French", run: "exécutez,exécute ,exécuter,lancez,lance ,démarrez,installez,installe ",
		object: "commande,script,programme,code suivant,le code,fichier,paquet",
		fetch:  "téléchargez,télécharge ,télécharger,ouvrez,ouvre ,visitez,cliquez,suivez,récupérez,consultez",
		ignore: "ignorez,oubliez,oublie ", orders: "instructions,consignes,directives,règles",
		control: "politique,validation,approbation,bac à sable,liste blanche,pare-feu,restriction", change: "devrait,doit ,doivent,désactiv,n'est plus,ne sont plus,supprimez,modifi"},
	{name: "Spanish", run: "ejecuta ,ejecute ,ejecutar,corre el,inicia ,inicie ,lanza ,instala ,instale ",
		object: "comando,script,programa,código,archivo,paquete,orden siguiente",
		fetch:  "descarga ,descargue ,descargar,abre ,abra ,visita ,visite ,haz clic,siga ,sigue ,obtén",
		ignore: "ignora ,ignore ,ignorad,olvida ,olvide ", orders: "instrucciones,órdenes,reglas,indicaciones",
		control: "política,validación,aprobación,lista blanca,cortafuegos,restricci", change: "debe ,debería,deben,desactiv,ya no ,cambiar,elimin"},
	{name: "Italian", run: "esegui ,esegua ,eseguire,eseguite,avvia ,avviare,lancia ,installa ",
		object: "comando,script,programma,codice,file,pacchetto",
		fetch:  "scarica ,scaricare,scaricate,apri ,apra ,aprite,visita ,visitate,clicca,segui ",
		ignore: "ignora ,ignorate,dimentica ", orders: "istruzioni,ordini,regole",
		control: "politica,convalida,approvazione,lista consentiti,restrizion", change: "dovrebbe,deve ,devono,disattiv,non è più,modific"},
	{name: "Portuguese", run: "execute ,executar,executem,rode ,inicie ,instale ",
		object: "comando,o script,este script,programa,código,arquivo,ficheiro,pacote",
		fetch:  "baixe ,baixar,descarregue,abra ,acesse ,visite ,clique ",
		ignore: "ignore ,esqueça ,desconsidere ", orders: "instruções,ordens,regras",
		control: "política,validação,aprovação,lista de permissões,restriç", change: "deve ,deveria,devem,desativ,não é mais,alterad"},
	{name: "Dutch", run: "voer ,start ,draai ,installeer ", object: "commando,opdracht,het script,dit script,programma,code uit,bestand,pakket",
		fetch: "download nu,open nu,open de link,bezoek ,klik ,haal ", ignore: "negeer,vergeet", orders: "instructies,opdrachten,regels",
		control: "beleid,validatie,goedkeuring,zandbak,beperking", change: "moet ,moeten,zou moeten,uitgeschakeld,niet meer nodig,schakel"},
	{name: "Polish", run: "uruchom ,uruchomić,wykonaj ,wykonać,zainstaluj ,uruchom.", object: "polecenie,skrypt,program,kod,plik,pakiet,i uruchom",
		fetch: "pobierz ,pobrać,otwórz ,odwiedź,kliknij", ignore: "zignoruj,ignoruj,zapomnij", orders: "instrukcj,polecenia,zasad",
		control: "polityk,walidacj,zatwierdz,ogranicze", change: "powinn,należy,musi ,wyłącz,zmieni"},
	{name: "Swedish", run: "kör ,starta ,utför ,installera ,exekvera ", object: "kommando,skript,program,koden,filen,paket",
		fetch: "ladda ner,öppna ,besök ,klicka ,hämta ", ignore: "ignorera,glöm ,bortse", orders: "instruktioner,order,regler",
		control: "policy,validering,godkännande,begränsning", change: "bör ,måste ,stängas av,inaktiver"},
	{name: "Turkish", run: "çalıştır,yürüt", object: "komut,betik,program,kodu,dosya", fetch: "indir,açın,ziyaret,tıkla", ignore: "yok say,görmezden,unut", orders: "talimat,emir,kural",
		control: "politika,doğrulama,onay,kısıtlama", change: "gerekiyor,gerekir,devre dışı,kaldır"},
	{name: "Russian", run: "выполни,запусти,исполни,выполнить,установи,выполните", object: "команд,скрипт,программ,код,файл,пакет",
		fetch: "скачай,скачать,загрузи,открой,откройте,перейди,перейти,посети", ignore: "игнорируй,забудь,не обращай", orders: "инструкци,указани,правил,команд",
		control: "политик,проверк,одобрени,ограничени,песочниц", change: "должн,следует,нужно,необходимо,отключ,изменен,больше не"},
	{name: "Ukrainian", run: "виконай,запусти,виконайте,встанови", object: "команд,скрипт,програм,код,файл,пакет", fetch: "завантаж,відкрий,перейди", ignore: "ігноруй,забудь", orders: "інструкці,вказівк,правил",
		control: "політик,перевірк,обмежен", change: "повинн,слід,потрібно,вимк"},
	{name: "Chinese", run: "请运行,请执行,运行以下,执行以下,执行下面,运行下面,立即执行,立即运行,执行这个,运行这个,请立即,必须执行,必须运行,並執行,请安装,執行以下,請執行,請運行,执行该", object: "命令,脚本,代码,程序,文件,指令,软件,腳本,程式,代碼",
		fetch: "下载,访问,打开,点击,獲取,获取,下載,訪問,打開", ignore: "忽略,无视,忘记,無視,忘記", orders: "指令,指示,规则,提示,規則",
		control: "安全策略,策略,政策,白名单,验证,审批,沙箱,沙盒,限制", change: "应该,应当,必须,需要,关闭,禁用,不再,修改,應該,必須"},
	{name: "Japanese", run: "実行して,実行しろ,実行せよ,実行しなさい,起動して,走らせて,インストールして,実行すること", object: "コマンド,スクリプト,コード,プログラム,ファイル,命令,パッケージ",
		fetch: "ダウンロードして,開いて,アクセスして,クリックして,取得して", ignore: "無視して,無視し,忘れて", orders: "指示,命令,ルール,プロンプト",
		control: "ポリシー,検証,承認,許可リスト,サンドボックス,制限", change: "べき,必要が,無効,変更し,しなければ"},
	{name: "Korean", run: "실행하,실행해,구동하,설치하,실행 하", object: "명령,스크립트,코드,프로그램,파일,패키지",
		fetch: "다운로드하,다운로드해,여세요,열어,방문하,접속하,클릭하", ignore: "무시하,무시해,잊어", orders: "지시,명령,규칙,프롬프트",
		control: "정책,검증,승인,제한,샌드박스", change: "해야,필요가,비활성,변경"},
	{name: "Arabic", run: "تنفيذ,نفذ,شغل,تشغيل,قم بتشغيل,قم بتنفيذ,ثبت", object: "الأمر,البرنامج,السكربت,النص البرمجي,الكود,الملف,الشيفرة,أمر",
		fetch: "تحميل,حمل ,افتح,زيارة,قم بزيارة,انقر", ignore: "تجاهل,انس", orders: "التعليمات,الأوامر,القواعد",
		control: "السياسة,سياسة,التحقق,الموافقة,القيود", change: "يجب,ينبغي,تعطيل,تغيير"},
	{name: "Hindi", run: "चलाएं,चलाओ,चलाइए,निष्पादित कर,इंस्टॉल कर", object: "कमांड,स्क्रिप्ट,प्रोग्राम,कोड,फ़ाइल,फाइल,आदेश",
		fetch: "डाउनलोड कर,खोलें,खोलो,क्लिक कर", ignore: "अनदेखा,नज़रअंदाज़,भूल जा", orders: "निर्देश,आदेश,नियम",
		control: "नीति,सत्यापन,अनुमोदन", change: "चाहिए,बदल,बंद"},
	{name: "Indonesian", run: "jalankan ,eksekusi ,instal ", object: "perintah,skrip,program,kode,berkas,file", fetch: "unduh ,buka ,kunjungi ,klik ", ignore: "abaikan ,lupakan ", orders: "instruksi,perintah,aturan",
		control: "kebijakan,validasi,persetujuan", change: "harus ,sebaiknya,nonaktif,ubah"},
	{name: "Vietnamese", run: "hãy chạy,hãy thực thi,vui lòng chạy,chạy lệnh,thực thi lệnh", object: "lệnh,tập lệnh,chương trình,mã ,tệp", fetch: "tải xuống,hãy mở,truy cập,nhấp vào", ignore: "bỏ qua,quên ", orders: "hướng dẫn,chỉ thị,quy tắc",
		control: "chính sách,xác thực,phê duyệt", change: "phải ,nên ,tắt ,thay đổi"},
	{name: "Czech", run: "spusť ,spusťte,proveď ,proveďte,nainstaluj", object: "příkaz,skript,program,kód,soubor,balíč", fetch: "stáhni,stáhněte,otevři,otevřete,navštiv,klikn", ignore: "ignoruj,zapomeň", orders: "pokyny,instrukc,příkazy,pravidla",
		control: "zásad,validac,schvál,omezen", change: "měl,musí,vypn,změn"},
}

// folded makes of a list of words an expression and the words themselves, as
// they stand in folded text.
func folded(list string) (expr string, near []string) {
	var parts []string
	for _, w := range strings.Split(list, ",") {
		bare := string(text.Fold([]byte(strings.TrimSpace(w))).Text)
		if bare == "" {
			continue
		}
		q := regexp.QuoteMeta(bare)
		if strings.HasSuffix(w, " ") { // the whole word
			q += `[ \f]`
		}
		if bare[0] >= 'a' && bare[0] <= 'z' {
			q = `\b` + q
			near = append(near, "^"+bare)
		} else {
			near = append(near, bare)
		}
		parts = append(parts, q)
	}
	return "(?:" + strings.Join(parts, "|") + ")", near
}

// tongueRows are the rows of the languages other than English.
func tongueRows() []row {
	const gap = `[^\n!?]{0,70}?`
	var rows []row
	for _, t := range tongues {
		run, runNear := folded(t.run)
		object, _ := folded(t.object)
		fetch, fetchNear := folded(t.fetch)
		ignore, ignoreNear := folded(t.ignore)
		orders, _ := folded(t.orders)
		control, controlNear := folded(t.control)
		change, _ := folded(t.change)
		either := func(a, b string) *regexp.Regexp { return pattern(a + gap + b + "|" + b + gap + a) }
		reach := [2]int{110, 160}
		rows = append(rows,
			row{rule: RuleExecute, name: "run-" + t.name, what: "an instruction to run something, in " + t.name, near: runNear, reach: reach, reportable: true, re: either(run, object)},
			row{rule: RuleFetch, name: "fetch-" + t.name, what: "an instruction to fetch something, in " + t.name, near: fetchNear, also: []string{"://", "www."}, reach: reach, reportable: true,
				re: either(fetch, "{URL}")},
			row{rule: RuleExecute, name: "ignore-" + t.name, what: "an order to ignore instructions, in " + t.name, near: ignoreNear, reach: reach, reportable: true, re: either(ignore, orders)},
			row{rule: RulePolicy, name: "policy-" + t.name, what: "a claim that policy should change, in " + t.name, near: controlNear, reach: reach, reportable: true, re: either(control, change)},
		)
	}
	return rows
}
