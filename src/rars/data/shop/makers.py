"""Who makes things: fictional brands, product lines and devices.

Owns: the brands of each department with their Japanese reading, the names of product lines, the devices
that accessories fit. Ignores how often each occurs (``facts``). All names are invented.
"""

from __future__ import annotations

GENERAL_BRANDS = """
Ordeva オルデヴァ, Plenio プレニオ, Casimbo カシンボ, Havrella ハヴレラ, Mundaro ムンダロ,
Solvique ソルヴィーク, Braylune ブレイルーン, Corvanta コルヴァンタ, Everno エヴェルノ, Nubrelo ヌブレロ
"""
"""Brands found in every department."""

BRANDS = {
    "electronics": """
        Nolvaro ノルヴァロ, Quentix クエンティクス, Ardelon アーデロン, Pixoren ピクソレン,
        Voltessa ヴォルテッサ, Kirelio キレリオ, Tavonic タヴォニック, Lumirak ルミラック,
        Hexavo ヘキサヴォ, Brindax ブリンダックス""",
    "computing": """
        Datrell ダトレル, Kelvarto ケルヴァルト, Inkavia インカヴィア, Clavora クラヴォラ,
        Bytolan バイトラン, Stravix ストラヴィクス, Memvolt メムヴォルト, Printara プリンタラ""",
    "kitchen": """
        Cucivo クチーヴォ, Fornella フォルネラ, Brasenta ブラセンタ, Panvella パンヴェラ,
        Kesselin ケッセリン, Aromezzo アロメッツォ, Tavolese タヴォレーゼ, Hidrola ヒドローラ""",
    "home": """
        Lunavelle ルナヴェル, Dormelia ドルメリア, Fibrena フィブレナ, Candoro カンドロ,
        Lucemira ルチェミラ, Softalia ソフタリア, Nidoria ニドリア, Telavina テラヴィナ""",
    "furniture": """
        Holvarda ホルヴァルダ, Sedario セダリオ, Legnova レニョーヴァ, Kantorra カントーラ,
        Roblesa ロブレサ, Estanza エスタンザ, Varbrook ヴァーブルック""",
    "clothing": """
        Tesshara テッシャラ, Modavia モダヴィア, Linnetta リネッタ, Urbanelle アーバネル,
        Hilorra イロラ, Kotonelle コトネル, Norvind ノルヴィンド, Bramwick ブラムウィック""",
    "luggage": """
        Passarel パッサレル, Trekora トレコラ, Valiggo ヴァリッゴ, Solentra ソレントラ,
        Caminelo カミネロ, Borsalia ボルサリア, Stridexa ストライデクサ""",
    "sports": """
        Fortivo フォルティヴォ, Alpenrak アルペンラック, Zancaro サンカロ, Flexura フレクスラ,
        Pedalix ペダリクス, Campora カンポラ, Ridgeva リッジヴァ, Kinetra キネトラ""",
    "beauty": """
        Belisara ベリサラ, Dermalune デルマルーン, Capellia カペリア, Rasuro ラスーロ,
        Florezza フロレッツァ, Aquaressa アクアレッサ, Solbrisa ソルブリサ, Purevanna ピュアヴァンナ""",
    "pets": """
        Pawdello パウデロ, Felimora フェリモラ, Canibello カニベロ, Huellio ウエリオ,
        Barkona バーコナ, Miauzo ミアウゾ, Natupelo ナチュペロ""",
    "grocery": """
        Cafenza カフェンツァ, Olivarra オリヴァーラ, Nocelia ノチェリア, Cacaluna カカルーナ,
        Tealora ティーローラ, Huertelia ウエルテリア, Granavera グラナヴェラ""",
    "toys": """
        Juglino フグリーノ, Blokkaro ブロッカロ, Playvento プレイヴェント, Peluzzo ペルッツォ,
        Gamenta ゲーメンタ, Rompelio ロンペリオ, Zubalu ズバル""",
    "tools": """
        Taladrix タラドリクス, Herrano エラノ, Verdivo ヴェルディヴォ, Schraubo シュラウボ,
        Aspirella アスピレラ, Clenaro クレナロ, Jardelia ハルデリア""",
    "office": """
        Papelino パペリーノ, Tintaro ティンタロ, Scrivella スクリヴェラ, Folioro フォリオロ,
        Notavio ノタヴィオ, Klammero クランメロ""",
}
"""Brands of one department, beside the general ones."""

LINE_NAMES = """
Alba Arco Boreal Brisa Cielo Cobalt Delta Duna Echo Ember Fjord Flint Gala Halo Indra Isla Juno Kora Lark
Lyra Marea Mistral Nimbus Nova Onda Opal Orion Pampa Pine Prisma Quill Rhea Ridge Rune Sable Sierra Sol
Stella Tempo Terra Tundra Umbra Vega Vela Vista Wren Zephyr Zenit
"""
LINE_MARKS = ("", " 2", " Pro", " Mini", " Plus", " X")

LINES = tuple(f"{name}{mark}" for mark in LINE_MARKS for name in LINE_NAMES.split())
"""Product lines ("Terra Mini"); a brand has three of them in each leaf category."""

DEVICES = {
    "phone": """
        Nolvaro N7, Nolvaro N7 Pro, Quentix Q20, Nolvaro N8, Quentix Q20 Lite, Ardelon Air 5,
        Quentix Q21, Ardelon Air 6, Hexavo H3, Hexavo H3 Max""",
    "watch": "Nolvaro Pulse 2, Quentix Orbit, Ardelon Beat 3, Kirelio Fit S, Nolvaro Pulse 3",
    "camera": "Pixoren P100, Lumirak L5, Pixoren P200, Lumirak Go 2, Tavonic T1",
    "printer": """
        Inkavia 2400, Printara Jet 310, Inkavia 2700, Printara Jet 520, Kelvarto LX-12, Datrell D80,
        Kelvarto LX-30""",
    "coffee": "Aromezzo Uno, Brasenta B2, Aromezzo Duo, Fornella Crema, Kesselin K5",
    "shaver": "Rasuro R3, Rasuro R5, Capellia Smooth 7, Purevanna Edge, Rasuro R9",
    "console": "Gamenta One, Playvento Box, Gamenta Go, Zubalu Z2",
    "vacuum": "Aspirella A6, Clenaro C10, Aspirella A8, Clenaro C20, Verdivo Storm, Herrano H4",
}
"""Devices that are items themselves (``model=@phone``) and that accessories fit (``fits=@phone``)."""
