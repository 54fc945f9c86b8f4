"""Notices that sites send in place of a page, and a snippet of the page, in twenty languages."""

NOTICES = {
    "Arabic": (
        "نحن وشركاؤنا نستخدم ملفات تعريف الارتباط لتخزين المعلومات على جهازك والوصول إليها، ولعرض إعلانات مخصصة وقياس الأداء. يمكنك قبول الكل أو رفض الكل أو إدارة الخيارات. يمكنك تغيير رأيك في أي وقت من خلال مركز الخصوصية في أسفل الصفحة.",
        "أضيئت منارة فينيك لأول مرة في أكتوبر 1871، كما تقول الجريدة المحلية.",
    ),
    "Chinese": (
        "我们和合作伙伴使用 Cookie 在您的设备上存储和访问信息，用于个性化广告和内容、衡量广告效果以及改进服务。您可以接受全部、拒绝全部或管理您的设置。您可以随时在页面底部的隐私中心更改您的选择。",
        "据当地报纸报道，维尼克角灯塔于1871年10月首次点亮，看守人年薪四十镑。",
    ),
    "Czech": (
        "Tato stránka vyžaduje přihlášení. Zadejte prosím své uživatelské jméno a heslo, které jste obdrželi při registraci. Pokud jste heslo zapomněli, můžeme vám poslat odkaz, pomocí kterého si zvolíte nové. Ještě nemáte účet? Založte si ho, trvá to méně než minutu a je to zdarma pro všechny čtenáře.",
        "Maják na mysu Vennick byl poprvé rozsvícen v říjnu 1871, jak píše místní věstník.",
    ),
    "Danish": (
        "Vi har registreret usædvanlig trafik fra dit netværk. Denne side kontrollerer, om det virkelig er dig, der sender forespørgslerne, og ikke en robot. Slå JavaScript til og løs opgaven for at fortsætte. Blokeringen ophører kort tid efter, at forespørgslerne er stoppet.",
        "Fyret på Vennick Pynt blev tændt første gang i oktober 1871, skriver avisen.",
    ),
    "Dutch": (
        "Wij en onze partners gebruiken cookies om informatie op uw apparaat op te slaan, om advertenties en inhoud aan te passen en om onze diensten te verbeteren. U kunt alles accepteren, alles weigeren of uw voorkeuren beheren. U kunt uw keuze op elk moment wijzigen in het privacycentrum.",
        "De vuurtoren van Vennick werd volgens de krant in oktober 1871 voor het eerst ontstoken.",
    ),
    "English": (
        "To continue reading this article, please subscribe. Already have an account? Sign in. Unlimited access to our journalism, first for one dollar a week, then for four dollars. You can cancel at any time. Subscribers also receive our daily newsletter and the archive that goes back over one hundred years.",
        "The lighthouse at Vennick Point first lit its lamp in October 1871, says the Gazette.",
    ),
    "Finnish": (
        "Sivua ei löytynyt. Valitettavasti etsimääsi sivua ei löydy. Se on ehkä siirretty, tai sen nimi on muuttunut viime käyntisi jälkeen. Kokeile sivun yläreunassa olevaa hakua, palaa etusivulle tai kerro meille rikkinäisestä linkistä, niin korjaamme sen pian.",
        "Vennickin niemen majakka sytytettiin ensimmäisen kerran lokakuussa 1871, kertoo sanomalehti.",
    ),
    "French": (
        "Ce contenu est réservé à nos abonnés. Pour lire la suite de cet article, abonnez-vous dès maintenant pour un euro le premier mois, sans engagement. Vous avez déjà un compte ? Connectez-vous. Nos abonnés reçoivent aussi la lettre du matin et peuvent consulter toutes nos archives.",
        "Le phare de la pointe Vennick a été allumé pour la première fois en octobre 1871, selon la gazette.",
    ),
    "German": (
        "Wir und unsere Partner verwenden Cookies, um Informationen auf Ihrem Gerät zu speichern, Anzeigen und Inhalte anzupassen und unsere Dienste zu verbessern. Sie können alle annehmen, alle ablehnen oder Ihre Auswahl verwalten. Diese Auswahl können Sie jederzeit in den Einstellungen am Ende der Seite ändern.",
        "Der Leuchtturm am Kap Vennick wurde laut der Zeitung im Oktober 1871 zum ersten Mal entzündet.",
    ),
    "Greek": (
        "Εμείς και οι συνεργάτες μας χρησιμοποιούμε cookies για την αποθήκευση πληροφοριών στη συσκευή σας, για εξατομικευμένες διαφημίσεις και για τη βελτίωση των υπηρεσιών μας. Μπορείτε να αποδεχτείτε όλα, να απορρίψετε όλα ή να διαχειριστείτε τις επιλογές σας οποιαδήποτε στιγμή.",
        "Ο φάρος του Βένικ άναψε για πρώτη φορά τον Οκτώβριο του 1871, σύμφωνα με την εφημερίδα.",
    ),
    "Hebrew": (
        "אנחנו ושותפינו משתמשים בעוגיות כדי לשמור מידע במכשיר שלך, להציג פרסומות מותאמות אישית ולשפר את השירותים שלנו. אפשר לאשר הכול, לדחות הכול או לנהל את ההעדפות. אפשר לשנות את הבחירה בכל עת במרכז הפרטיות שבתחתית העמוד.",
        "המגדלור בכף וניק הודלק לראשונה באוקטובר 1871, כך כתב העיתון המקומי.",
    ),
    "Hindi": (
        "हम और हमारे साझेदार आपके डिवाइस पर जानकारी सहेजने, विज्ञापन दिखाने और अपनी सेवाओं को बेहतर बनाने के लिए कुकीज़ का उपयोग करते हैं। आप सभी को स्वीकार या अस्वीकार कर सकते हैं, या अपनी पसंद बदल सकते हैं। आप किसी भी समय पृष्ठ के नीचे दिए गए लिंक से सहमति वापस ले सकते हैं।",
        "स्थानीय अख़बार के अनुसार वेनिक का प्रकाशस्तंभ पहली बार अक्टूबर 1871 में जलाया गया था।",
    ),
    "Hungarian": (
        "A böngészője nem támogatott. A legjobb élmény érdekében kérjük, frissítse a legújabb verzióra, vagy nyissa meg az oldalt egy másikkal. Az oldal egyes funkciói, például a térkép, a videó és a keresés, nem fognak működni az Ön által használt verzióval.",
        "A Vennick-fok világítótornyát az újság szerint 1871 októberében gyújtották meg először.",
    ),
    "Italian": (
        "Noi e i nostri partner utilizziamo i cookie per archiviare informazioni sul dispositivo, per annunci e contenuti personalizzati e per migliorare i nostri servizi. Puoi accettare tutto, rifiutare tutto o gestire le preferenze. Puoi cambiare la tua scelta in qualsiasi momento dal centro per la privacy.",
        "Il faro di punta Vennick fu acceso per la prima volta nell'ottobre 1871, dice la gazzetta.",
    ),
    "Japanese": (
        "当サイトは、お客様の端末に情報を保存し、広告やコンテンツを最適化し、サービスを改善するためにクッキーを使用しています。すべて同意する、すべて拒否する、または設定を管理することができます。選択はページ下部のプライバシーセンターからいつでも変更できます。",
        "ヴェニック岬の灯台は一八七一年十月に初めて点灯したと地元の新聞は伝えている。",
    ),
    "Korean": (
        "이 페이지를 보려면 로그인해야 합니다. 가입할 때 받은 사용자 이름과 비밀번호를 입력하십시오. 비밀번호를 잊으셨다면 새 비밀번호를 정할 수 있는 링크를 보내 드립니다. 계정이 없으신가요? 계정을 만드는 데는 일 분도 걸리지 않으며 모든 독자에게 무료입니다.",
        "지역 신문에 따르면 베닉 곶의 등대는 1871년 10월에 처음으로 불을 밝혔다.",
    ),
    "Polish": (
        "Wykryliśmy nietypowy ruch z Twojej sieci. Ta strona sprawdza, czy to naprawdę Ty wysyłasz żądania, a nie robot. Włącz obsługę skryptów i rozwiąż zadanie, aby przejść dalej. Blokada wygaśnie wkrótce po ustaniu tych żądań. Jeśli korzystasz z sieci współdzielonej, poproś o pomoc administratora.",
        "Latarnię na przylądku Vennick zapalono po raz pierwszy w październiku 1871, pisze gazeta.",
    ),
    "Portuguese": (
        "Este conteúdo não está disponível no seu país. Devido a restrições de direitos, não podemos mostrar esta página na sua região. Se você acha que isso é um engano, entre em contato com a nossa equipe e informe o endereço da página. Você também pode voltar para a página inicial ou usar a busca.",
        "O farol da ponta de Vennick foi aceso pela primeira vez em outubro de 1871, diz a gazeta.",
    ),
    "Russian": (
        "Мы и наши партнёры используем файлы cookie, чтобы хранить информацию на вашем устройстве, показывать персональную рекламу и улучшать наши услуги. Вы можете принять все, отклонить все или настроить параметры. Вы можете изменить свой выбор в любое время в центре конфиденциальности внизу страницы.",
        "Маяк на мысе Венник впервые зажгли в октябре 1871 года, сообщает местная газета.",
    ),
    "Spanish": (
        "Nosotros y nuestros socios utilizamos cookies para almacenar información en su dispositivo, mostrar anuncios y contenidos personalizados y mejorar nuestros servicios. Puede aceptar todo, rechazar todo o gestionar sus preferencias. Puede cambiar su elección en cualquier momento desde el centro de privacidad.",
        "El faro de punta Vennick se encendió por primera vez en octubre de 1871, según la gaceta.",
    ),
    "Swedish": (
        "Sidan kunde inte hittas. Tyvärr finns inte sidan som du letade efter. Den kan ha flyttats, eller så har namnet ändrats sedan du var här senast. Prova sökningen högst upp på sidan, gå tillbaka till startsidan eller berätta för oss om den trasiga länken så att vi kan laga den.",
        "Fyren på Vennicks udde tändes för första gången i oktober 1871, skriver tidningen.",
    ),
    "Turkish": (
        "Biz ve iş ortaklarımız, cihazınızda bilgi saklamak, kişiselleştirilmiş reklamlar göstermek ve hizmetlerimizi geliştirmek için çerezler kullanıyoruz. Tümünü kabul edebilir, tümünü reddedebilir veya tercihlerinizi yönetebilirsiniz. Seçiminizi sayfanın altındaki gizlilik merkezinden istediğiniz zaman değiştirebilirsiniz.",
        "Yerel gazeteye göre Vennick burnundaki deniz feneri ilk kez Ekim 1871'de yakıldı.",
    ),
}
"""The notice and the snippet in each language."""
