"""Japanese values, quantities and sentences.

Owns: the same tables as ``phrases_en``.
"""

from __future__ import annotations

VALUES = """
[color]
black = ブラック | 黒, 黒色, くろ
white = ホワイト | 白, 白色, しろ
gray = グレー | 灰色, ねずみ色
silver = シルバー | 銀色, 銀
blue = ブルー | 青, 水色, 青色
navy = ネイビー | 紺, 紺色
red = レッド | 赤, 赤色
green = グリーン | 緑, 緑色
pink = ピンク | 桃色, さくら色
beige = ベージュ | 砂色, クリーム色
brown = ブラウン | 茶色, 茶
yellow = イエロー | 黄色, きいろ
purple = パープル | 紫, 紫色
orange = オレンジ | 橙色, だいだい色
[material]
aluminum = アルミ | アルミニウム, 軽量金属
bamboo = 竹 | バンブー
beeswax = 蜜蝋 | ミツロウ
canvas = キャンバス | 帆布
carbon_fiber = カーボン | 炭素繊維
carbon_steel = 炭素鋼 | 鋼
cardboard = 紙 | 厚紙
cast_iron = 鋳鉄 | 鋳物
ceramic = 陶器 | セラミック
clay = 鉱物 | ベントナイト
cork = コルク | 天然コルク
cotton = 綿 | コットン, 木綿
down = ダウン | 羽毛
fabric = 布 | ファブリック
faux_leather = 合皮 | PUレザー, フェイクレザー
felt = フェルト | 羊毛フェルト
fleece = フリース | もこもこ
glass = ガラス | 耐熱ガラス
latex = ラテックス | 天然ゴム
leather = 本革 | レザー, 牛革
linen = リネン | 麻
marble = 大理石 | マーブル
memory_foam = 低反発 | 低反発ウレタン
mesh = メッシュ | 通気性
microfiber = マイクロファイバー | 極細繊維
neoprene = ネオプレン | クッション素材
nylon = ナイロン | 編み込み
oak = オーク | 無垢材, 天然木
paraffin = パラフィン | 石油ろう
pine = パイン | 松
plastic = プラスチック | 樹脂
polycarbonate = ポリカーボネート | ハード
polyester = ポリエステル | 化繊
pvc = PVC | 塩ビ
rubber = ゴム | ラバー
silica = シリカゲル | シリカ
silicone = シリコン | シリコーン
soy_wax = ソイワックス | 大豆
stainless_steel = ステンレス | ステン, ステンレス鋼
steel = スチール | 鉄, 金属
stoneware = 炻器 | 焼き物
tempered_glass = 強化ガラス | 9H
terracotta = テラコッタ | 素焼き
titanium = チタン | 超軽量
tpe = TPE | エラストマー
tpu = TPU | ソフト
velvet = ベルベット | ビロード
wood = 木 | 木製, ウッド
wood_fiber = 木質ペレット | 木
wool = ウール | 羊毛
[audience]
women = レディース | 女性用, 婦人
men = メンズ | 男性用, 紳士
kids = キッズ | 子供用, 子ども
[size]
xs = XSサイズ | XS
s = Sサイズ | S
m = Mサイズ | M
l = Lサイズ | L
xl = XLサイズ | XL, LL
xxl = XXLサイズ | XXL, 3L
[bed]
single = シングル | 一人用
double = ダブル | 二人用
king = キング | 大きいサイズ
[shape]
round = 丸型 | 円形, まる
square = 正方形 | 四角
rectangular = 長方形 | 長方形型, 横長
oval = 楕円形 | オーバル
[pattern]
plain = 無地 | シンプル
striped = ストライプ | 縞, ボーダー
floral = 花柄 | フラワー
checked = チェック柄 | チェック, 格子
dotted = ドット柄 | 水玉
[connection]
wireless = ワイヤレス | 無線, Bluetooth, ブルートゥース
wired = 有線 | ケーブル式
[connector]
usb_c = USB-C | タイプC, type-c
usb_a = USB-A | 普通のUSB, タイプA
micro_usb = マイクロUSB | micro usb
[firmness]
soft = 柔らかめ | ふわふわ, やわらかい
medium = 普通の硬さ | ふつう
firm = 硬め | かため
[socket]
e27 = E27 | e27口金
e14 = E14 | e14口金
gu10 = GU10 | スポット
[tone]
warm = 電球色 | 暖色
neutral = 昼白色 | 自然光
cool = 昼光色 | 白い光
multicolor = マルチカラー | RGB, カラフル
[scent]
vanilla = バニラ | 甘い
lavender = ラベンダー | リラックス
rose = ローズ | バラ
sandalwood = サンダルウッド | 白檀
citrus = シトラス | 柑橘, レモン
coconut = ココナッツ | 南国
[skin]
dry_skin = 乾燥肌 | カサカサ肌
oily_skin = 脂性肌 | テカリ
sensitive_skin = 敏感肌 | 肌荒れ
mature_skin = 年齢肌 | 大人肌
[hair]
normal_hair = 普通髪 | 全髪質
dry_hair = 乾燥毛 | ダメージヘア
oily_hair = 脂性頭皮 | べたつく髪
colored_hair = カラーヘア | 染めた髪
[stage]
puppy = 子犬用 | パピー
adult_dog = 成犬用 | 大人の犬
senior_dog = シニア犬用 | 老犬
kitten = 子猫用 | こねこ
adult_cat = 成猫用 | 大人の猫
senior_cat = シニア猫用 | 老猫
[variety]
chicken = チキン | 鶏肉
beef = ビーフ | 牛肉
salmon = サーモン | 鮭
lamb = ラム | 羊肉
tuna = まぐろ | ツナ
dark_roast = 深煎り | ビター
medium_roast = 中煎り | ミディアム
light_roast = 浅煎り | ライト
green_tea = 緑茶 | 煎茶
black_tea = 紅茶 | ブラックティー
chamomile = カモミール | 安眠
mint = ミント | ハッカ
rooibos = ルイボス | ルイボスティー
dark_chocolate = ダーク | ビター
milk_chocolate = ミルク | まろやか
white_chocolate = ホワイトチョコ | 白い
almonds = アーモンド | あーもんど
cashews = カシューナッツ | カシュー
walnuts = くるみ | 胡桃
pistachios = ピスタチオ | ピスタ
mixed_nuts = ミックス | 詰め合わせ
bear = くま | テディベア
rabbit = うさぎ | ラビット
dog = 犬 | いぬ
cat = 猫 | ねこ
elephant = ぞう | 象
dinosaur = 恐竜 | きょうりゅう
landscape = 風景 | 自然
animals = 動物 | どうぶつ
city = 街並み | 夜景
world_map = 世界地図 | 地図
strategy = 戦略 | 頭を使う
cooperative = 協力型 | みんなで協力
card_game = カード | トランプ
quiz = クイズ | なぞなぞ
[paper]
a3 = A3 | A3サイズ
a4 = A4 | A4サイズ
a5 = A5 | A5サイズ
a6 = A6 | 文庫サイズ
[ruling]
lined = 横罫 | 罫線
dotted_grid = ドット方眼 | ドット
squared = 方眼 | マス目
blank = 無地ページ | 白紙
[tip]
fine_tip = 細字 | 0.5mm
medium_tip = 中字 | 1.0mm
broad_tip = 太字 | 太い
"""

MODIFIERS = {"scent": "{}の香り", "skin": "{}用", "hair": "{}用"}

QUANTITIES = """
battery = #mAh; # mAh | #mah; #/1000Ah; #/1000 Ah
storage = #GB; # GB; #/1000TB | #ギガ; #/1000テラ; #gb
power = #W; # W | #ワット; #w
length = #cm; # cm; #/100m | #センチ; #/100 m; #/100メートル
diameter = #cm; 直径#cm | #センチ; #*10mm
volume = #ml; #/1000L; # ml | #/1000リットル; #ミリリットル; #cc
weight = #g; #/1000kg | #グラム; #/1000キロ
screen = #インチ; #型 | #inch; # インチ
light = #lm; #ルーメン | # lm; #lumen
voltage = #V; # V | #ボルト; #v
thickness = #mm; 厚さ#mm | #ミリ; 厚み#mm
pieces = #ピース; 全#ピース | #pcs; #点
sheets = #枚; #枚入り | #シート; # 枚
persons = #人用; #名用 | #人; #名
players = #人; 最大#人 | #人用; #人プレイ
seats = #人掛け; #人用 | #Pサイズ; #シーター
ports = #ポート; #口 | #in1; #つ口
tiers = #段; #段式 | #段タイプ; #層
capsules = #個; #カプセル | #杯分; #カプセル入り
bags = #袋; #包 | #パック; #ティーバッグ
shoe = #cm; 足長#cm | #センチ; # cm
spf = SPF#; SPF # | spf#; ＳＰＦ#
pack = #個セット; #点セット; #個入り | #個; #つセット; ×#
"""

SENTENCES = """
color = カラーは{}です。 / 色：{}。
material = 素材は{}です。 / {}を使用しています。
audience = {}のモデルです。 / {}向けの商品です。
size = {}です。 / サイズ表記は{}です。
bed = {}サイズです。
shape = 形は{}です。 / {}のデザインです。
pattern = デザインは{}です。 / {}のデザインです。
connection = 接続方式は{}です。 / {}接続です。
connector = 端子は{}です。 / {}に対応しています。
firmness = {}タイプです。
socket = 口金は{}です。
tone = 光の色は{}です。 / やわらかな{}の光です。
scent = {}の香りです。 / {}がほのかに香ります。
skin = {}の方におすすめです。 / {}のために作りました。
hair = {}の方におすすめです。 / {}のために作りました。
stage = {}のレシピです。
variety = 種類は{}です。 / {}タイプです。
paper = 用紙サイズは{}です。 / {}判です。
ruling = 中紙は{}です。
tip = {}タイプです。 / 書き味は{}です。
battery = 容量は{}です。 / 大容量の{}です。
storage = 容量は{}です。 / {}まで保存できます。
power = 出力は{}です。 / 消費電力は{}です。
length = 長さは{}です。 / サイズは{}です。
diameter = 直径は{}です。
volume = 容量は{}です。 / {}入ります。
weight = 重さは{}です。 / 内容量は{}です。
screen = 画面サイズは{}です。
light = 明るさは{}です。
voltage = 電圧は{}です。
thickness = 厚さは{}です。
pieces = 全部で{}です。 / {}入りです。
sheets = {}入りです。
persons = {}です。 / 広さは{}です。
players = プレイ人数は{}です。
seats = {}です。
ports = {}を備えています。
tiers = {}です。
capsules = {}入りです。
bags = {}入りです。
shoe = サイズは{}です。
spf = {}の紫外線カットです。
pack = {}です。 / お得な{}です。
fits = {}に対応しています。 / {}専用設計です。 / 対応機種：{}。
model = モデルは{}です。 / 型番：{}。
"""

OPENERS = """
{use}に最適です。
{use}におすすめの{noun}です。
{use}にぴったりの{noun}をお届けします。
{brand}の{model}は{use}のために生まれました。
{brand}が作った{noun}です。
* {use}に使いやすい定番モデルです。
毎日使いたくなる{noun}です。
* シンプルで丈夫、{use}にちょうどいい一品です。
{brand}の{noun}、{model}シリーズです。
{use}に活躍します。
"""

COMPANIONS = "{}と一緒にどうぞ。 / {}との相性も抜群です。 / お使いの{}に合わせてお選びください。"

ALIAS = "{}とも呼ばれます。"

CLOSERS = """
* 2年間の保証付き。
環境にやさしい包装でお届けします。
* お手入れも簡単です。
ご不明な点はお気軽にお問い合わせください。
30日間返品できます。
自社工場で検査済みです。
発売以来ご好評をいただいています。
品質がさらに良くなりました。
* ご購入前にサイズをご確認ください。
* 画面の色と実物が多少異なる場合があります。
プレゼントにも喜ばれます。
在庫には限りがあります。
"""

YES_NO = ("あり", "なし")

FOR = "{}対応"

ASK = """
for = {}用 / {}対応 / {}
part = {}付き / {}つき / {}あり / {}
no part = {}なし / {}無し / {}不要 / {}なしタイプ
content = {}入り / {}使用 / {}
no content = {}なし / {}不使用 / {}フリー
ne = {}以外 / {}以外のもの / {}でないもの
at_least = {}以上
at_most = {}以下 / {}まで
"""
