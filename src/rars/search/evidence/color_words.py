"""Names of colours in English, Spanish and Japanese.

Owns: the table. A line reads ``colour [< family] = English | Spanish | Japanese``; ``negr(o a os as)``
stands for four words. An item of a shade also has its family (a navy shirt is a blue one), not the reverse.
``PHRASES`` hold a colour word without being of that colour. Words that more often name a thing than a
colour (cream, sand, wine, mint) count only beside the word "colour".
"""

from __future__ import annotations

COLORS = """
black = black, jet black, matte black, blk, ebony | negr(o a os as), azabache | \
黒, 黒色, 真っ黒, くろ, クロ, ブラック, マットブラック, 漆黒
white = white, whites, snow white, pure white, off white, ivory white, wht | blanc(o a os as), color nieve | \
白, 白色, 真っ白, しろ, ホワイト, ピュアホワイト
ivory < white = ivory | marfil, blanco roto | \
アイボリー, オフホワイト, 生成り, 生成り色, 象牙色, 乳白色
gray = gray, grey, light gray, light grey, ash gray, ash grey, slate gray, slate grey | \
gris, grises, gris claro | 灰色, ねずみ色, 鼠色, グレー, グレイ, ぐれー, ライトグレー
charcoal < gray = charcoal, charcoal gray, charcoal grey, anthracite, graphite, gunmetal, space gray, \
space grey, dark gray, dark grey | antracita, grafito, gris oscuro, gris marengo, color plomo | \
チャコール, チャコールグレー, ダークグレー, スペースグレー, 濃灰色
silver = silver, silvery, silver tone, silver toned, metallic silver, chrome | \
platead(o a os as), plata, metalizad(o a os as), cromad(o a os as) | 銀, 銀色, シルバー, クローム
gold = gold, golden, gold tone, gold toned | dorad(o a os as), color oro | 金, 金色, ゴールド
rosegold < gold = rose gold, pink gold, rosegold | oro rosa, oro rosado | \
ローズゴールド, ピンクゴールド
champagne < gold = champagne gold, champagne color | color champán | シャンパンゴールド, シャンパン色
bronze = bronze, bronzed | bronce | ブロンズ, 青銅色
copper = copper color, copper colored, copper tone | cobrizo, cobriza, color cobre | 銅色, カッパー
blue = blue, blues, bluish, royal blue, cobalt blue, electric blue | azul, azules, azulado, azulada, \
azul rey, azul eléctrico | 青, 青色, あお, ブルー, ロイヤルブルー
navy < blue = navy, navy blue, dark blue, midnight blue | azul marino, azul oscuro, azul noche, marino | \
紺, 紺色, 濃紺, ネイビー, ネイビーブルー, ダークブルー
skyblue < blue = sky blue, light blue, baby blue, powder blue, ice blue | \
celeste, celestes, azul cielo, azul claro, azul bebé | \
水色, 空色, みずいろ, スカイブルー, ライトブルー
turquoise < blue = turquoise, teal, aqua, cyan, aquamarine | turquesa, cian, aguamarina | \
ターコイズ, ターコイズブルー, シアン, 青緑
indigo < blue = indigo, denim blue | índigo, añil | 藍, 藍色, インディゴ
red = red, reds, crimson, scarlet, cherry red, bright red | roj(o a os as), colorad(o a os as), \
escarlata, carmesí | 赤, 赤色, 真っ赤, 朱色, 紅色, あか, レッド, スカーレット
burgundy < red = burgundy, maroon, bordeaux, wine red, oxblood, dark red | \
burdeos, granate, color vino, rojo oscuro, bordó | \
ワインレッド, ボルドー, バーガンディ, バーガンディー, えんじ, えんじ色, 臙脂色
green = green, greens, greenish, emerald, emerald green, forest green, dark green | \
verde, verdes, verdos(o a), esmeralda, verde oscuro | \
緑, 緑色, みどり, グリーン, エメラルド, エメラルドグリーン, ダークグリーン, 深緑
olive < green = olive, olive green, army green, military green | oliva, verde oliva, verde militar | \
オリーブ, オリーブグリーン, カーキグリーン, うぐいす色
mint < green = mint green, seafoam, seafoam green | verde menta, verde agua | \
ミントグリーン, ミント色
lime < green = lime green, neon green, light green | verde lima, verde claro, verde neón | \
黄緑, 黄緑色, ライムグリーン, 若草色, ライトグリーン
khaki = khaki, khakis | caqui, kaki | カーキ, カーキ色
yellow = yellow, yellows, lemon yellow, canary yellow, neon yellow | amarill(o a os as), \
amarillo limón | 黄, 黄色, きいろ, イエロー, レモンイエロー, 山吹色
mustard < yellow = mustard yellow, mustard color, ochre | mostaza, amarillo mostaza, ocre | \
マスタード, マスタードイエロー, からし色
orange = orange, tangerine | naranja, naranjas, anaranjad(o a os as), color mandarina | \
橙, 橙色, だいだい色, オレンジ, オレンジ色, みかん色
coral = coral, salmon pink | coral, color salmón | コーラル, コーラルピンク, サーモンピンク
pink = pink, pinks, pinkish, rose pink, blush, blush pink, light pink, baby pink, hot pink | \
rosa, rosas, rosad(o a os as), rosita, rosa palo, rosa claro | \
桃色, さくら色, 桜色, ピンク, ぴんく, ピンク色, ライトピンク
magenta < pink = magenta, fuchsia, fuschia | magenta, fucsia | マゼンタ, フューシャ, フューシャピンク
purple = purple, purples, violet, plum color | morad(o a os as), violeta, violetas, púrpura | \
紫, 紫色, むらさき, パープル, バイオレット, すみれ色
lilac < purple = lilac, lavender color, mauve, light purple | lila, lilas, malva, color lavanda | \
ライラック, ラベンダー色, 藤色, 薄紫, ライトパープル
brown = brown, browns, chestnut, chocolate brown, coffee color, dark brown, mahogany | \
marrón, marrones, castañ(o a os as), color café, color chocolate, pardo, marrón oscuro | \
茶, 茶色, ちゃいろ, ブラウン, ダークブラウン, こげ茶, こげ茶色, 焦げ茶, 焦げ茶色
tan < brown = tan, camel, camel brown, cognac | camel, cuero natural, coñac | \
キャメル, キャメル色, ライトブラウン, タン色
beige = beige, sand color, sand colored, cream color, cream colored, nude color, taupe, ecru | \
beige, beis, color arena, color crema | ベージュ, 砂色, クリーム色, 肌色, エクリュ, トープ, グレージュ
transparent = transparent, clear, see through, crystal clear | transparente, transparentes | \
透明, 無色透明, クリア, スケルトン
multicolor = multicolor, multicolour, multicolored, multicoloured, multi color, rainbow, colorful, \
assorted colors | multicolor, multicolores, arcoíris, de colores | マルチカラー, カラフル, 虹色, レインボー
"""

PHRASES = """
black tea, green tea, white tea, black pepper, red pepper, green beans, black beans, red wine, white wine, \
brown rice, brown sugar, white chocolate, white noise, white board, warm white, cool white, soft white, \
blue light, blue ray, red light therapy, black friday, golden retriever, gold standard, orange juice, \
olive oil, coral reef, green screen, blue cheese, clear skin, \
aceite de oliva, aceite oliva, red transpirable, red inalámbrica, de red, \
chocolate blanco, chocolate negro, té verde, té negro, vino blanco, pimienta negra, \
blanco cálido, blanco frío, blanco neutro, luz azul, luz blanca, zumo de naranja, jugo de naranja, \
arroz blanco, agua de rosas, \
ブルートゥース, ブルーレイ, ブルーライト, ブルーベリー, ブラックティー, ブラックベリー, \
ブラックコーヒー, ブラックライト, ブラックペッパー, ブラックフライデー, ホワイトニング, ホワイトボード, \
ホワイトチョコ, ホワイトノイズ, グリーンティー, グリーンピース, グリーンカレー, オレンジジュース, \
オレンジオイル, オリーブオイル, オリーブ油, ピンクソルト, ブラウンシュガー, クリアランス, グレープ, \
白ワイン, 赤ワイン, 赤外線, 紫外線, 白い光, 白紙
"""
