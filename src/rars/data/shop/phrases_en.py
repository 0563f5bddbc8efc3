"""English values, quantities and sentences.

Owns: ``VALUES`` (``key = word | what people type instead``), ``QUANTITIES`` (forms that shops print, then
forms that people type; ``#/1000`` is the number divided by 1000), the ``SENTENCES`` of a description for
each field, its ``OPENERS`` and ``CLOSERS`` (``*`` marks those for durable goods alone), and ``ASK``, how
people type a condition. Ignores word order (``titles``, ``asking``).
"""

from __future__ import annotations

VALUES = """
[color]
black = black | jet black, blk
white = white | ivory white, off white
gray = gray | grey, charcoal
silver = silver | metallic, chrome
blue = blue | sky blue, royal blue
navy = navy blue | dark blue, navy
red = red | crimson, scarlet
green = green | olive, emerald
pink = pink | rose pink, blush
beige = beige | cream, sand color
brown = brown | tan, chestnut
yellow = yellow | mustard, lemon yellow
purple = purple | violet, lilac
orange = orange | tangerine, amber
[material]
aluminum = aluminum | aluminium, alu
bamboo = bamboo | bambu
beeswax = beeswax | natural wax
canvas = canvas | heavy cotton cloth
carbon_fiber = carbon fiber | carbon
carbon_steel = carbon steel | high carbon
cardboard = cardboard | paperboard
cast_iron = cast iron | iron
ceramic = ceramic | porcelain
clay = clay | bentonite
cork = cork | natural cork
cotton = cotton | 100% cotton
down = down | feather, goose down
fabric = fabric | cloth
faux_leather = faux leather | pu leather, vegan leather
felt = felt | wool felt
fleece = fleece | fluffy, sherpa
glass = glass | borosilicate
latex = latex | natural latex
leather = leather | genuine leather, real leather
linen = linen | flax
marble = marble | stone top
memory_foam = memory foam | viscoelastic
mesh = mesh | breathable net
microfiber = microfiber | microfibre
neoprene = neoprene | wetsuit material
nylon = nylon | braided
oak = oak | solid wood, oak wood
paraffin = paraffin | paraffin wax
pine = pine | pinewood
plastic = plastic | bpa free plastic
polycarbonate = polycarbonate | hard shell
polyester = polyester | synthetic
pvc = PVC | vinyl
rubber = rubber | natural rubber
silica = silica gel | crystals
silicone = silicone | rubbery, soft gel
soy_wax = soy wax | soya
stainless_steel = stainless steel | ss, inox, steel
steel = steel | metal
stoneware = stoneware | earthenware
tempered_glass = tempered glass | 9h glass, hardened glass
terracotta = terracotta | clay pot style
titanium = titanium | ultralight metal
tpe = TPE | thermoplastic
tpu = TPU | soft plastic, flexible gel
velvet = velvet | velour
wood = wood | wooden
wood_fiber = wood fiber | wood pellets
wool = wool | merino
[audience]
women = women's | for women, womens, ladies
men = men's | for men, mens, guys
kids = kids' | for kids, children, childrens
[size]
xs = size XS | xs, extra small
s = size S | s, small
m = size M | m, medium
l = size L | l, large
xl = size XL | xl, extra large
xxl = size XXL | xxl, 2xl
[bed]
single = twin | single bed, twin size
double = queen | double bed, queen size
king = king | king size, kingsize
[shape]
round = round | circular, circle
square = square | cube shaped
rectangular = rectangular | long shape, oblong
oval = oval | ellipse
[pattern]
plain = solid color | plain, single color
striped = striped | stripes
floral = floral | flowers, flowery
checked = plaid | checkered, checked
dotted = polka dot | dots, dotted
[connection]
wireless = wireless | bluetooth, cordless
wired = wired | with wire, corded
[connector]
usb_c = USB-C | type c, usb c
usb_a = USB-A | usb a, standard usb
micro_usb = micro USB | microusb, old android plug
[firmness]
soft = soft | fluffy, plush
medium = medium-firm | medium, not too hard
firm = firm | hard, supportive
[socket]
e27 = E27 | e27, big screw
e14 = E14 | e14, small screw
gu10 = GU10 | gu10, spotlight base
[tone]
warm = warm white | warm, 2700k
neutral = neutral white | natural white, 4000k
cool = cool white | daylight, 6500k
multicolor = multicolor | rgb, colorful
[scent]
vanilla = vanilla | sweet
lavender = lavender | relaxing
rose = rose | flower smell
sandalwood = sandalwood | woody
citrus = citrus | lemon, orange scent
coconut = coconut | tropical
[skin]
dry_skin = dry skin | dehydrated skin
oily_skin = oily skin | shiny skin
sensitive_skin = sensitive skin | irritated skin
mature_skin = mature skin | over 50
[hair]
normal_hair = normal hair | all hair types
dry_hair = dry hair | damaged hair
oily_hair = oily hair | greasy hair
colored_hair = color-treated hair | dyed hair
[stage]
puppy = puppy | puppies, young dogs
adult_dog = adult | grown dogs
senior_dog = senior | old dogs
kitten = kitten | kittens, baby cats
adult_cat = adult | grown cats
senior_cat = senior | old cats
[variety]
chicken = chicken | poultry
beef = beef | cow
salmon = salmon | fish
lamb = lamb | mutton
tuna = tuna | fish flavor
dark_roast = dark roast | strong, intense
medium_roast = medium roast | balanced
light_roast = light roast | mild, blonde
green_tea = green | sencha
black_tea = black | breakfast blend
chamomile = chamomile | camomile, sleep
mint = peppermint | mint
rooibos = rooibos | red bush
dark_chocolate = dark | bittersweet, 70%
milk_chocolate = milk | creamy
white_chocolate = white | ivory
almonds = almond | almonds
cashews = cashew | cashews
walnuts = walnut | walnuts
pistachios = pistachio | pistachios
mixed_nuts = mixed | assorted
bear = bear | teddy bear
rabbit = bunny | rabbit
dog = dog | puppy
cat = cat | kitty
elephant = elephant | safari
dinosaur = dinosaur | t-rex, dino
landscape = landscape | nature, scenery
animals = animal | wildlife
city = city | skyline
world_map = world map | map
strategy = strategy | tactical
cooperative = cooperative | co-op
card_game = card-based | cards
quiz = trivia | quiz
[paper]
a3 = A3 | a3
a4 = A4 | a4
a5 = A5 | a5
a6 = A6 | a6, pocket size
[ruling]
lined = lined | ruled
dotted_grid = dot grid | dotted
squared = graph | squared, grid
blank = blank | plain, unlined
[tip]
fine_tip = fine-tip | thin, fine point
medium_tip = medium-tip | 1.0, medium point
broad_tip = broad-tip | thick, chisel
"""

MODIFIERS = {"scent": "{}-scented"}
"""How a value modifies the noun where the bare word would not do."""

QUANTITIES = """
battery = # mAh; #mAh | #mah; #/1000 Ah; #/1000ah
storage = # GB; #GB; #/1000 TB | #gb; #/1000tb
power = # W; #W | #w; # watts; #/1000 kw
length = # cm; #cm; #/100 m | # centimeters; #/100m; #*10 mm
diameter = # cm; #cm | # centimeters; #*10 mm; #cm diameter
volume = # ml; #ml; #/1000 L | #/1000 liter; #/1000l; #/10 cl
weight = # g; #/1000 kg | #g; #/1000kg; #/1000 kilo; # grams
screen = # inch; #-inch | #"; # in; #inch
light = # lm; # lumens | #lm; # lumen
voltage = # V; #V | #v; # volt
thickness = # mm; #mm thick | #mm; #/10 cm thick
pieces = # pieces; #-piece | # pcs; # pc
sheets = # sheets; #-sheet | # sheet; # sheet pack
persons = # persons; #-person | for # people; # person; # man
players = # players; up to # players | for # people; # player
seats = # seats; #-seater | # seater; for # people
ports = # ports; #-port | # in 1; # port
tiers = # tiers; #-tier | # levels; # shelf
capsules = # count; # capsules | # pods; # ct
bags = # count; # bags | # sachets; # tea bags
shoe = EU #; size # | eu #; # eu; size #
spf = SPF #; SPF# | spf#; factor #
pack = pack of #; #-pack; set of # | # pack; #x; # pcs
"""

SENTENCES = """
color = The color is {}. / Finished in {}.
material = Made of {}. / The main material is {}.
audience = Part of our {} range. / From our {} collection.
size = This is {}. / Order {} if that is what you usually wear.
bed = Fits a {} bed.
shape = {Cap} shape. / The shape is {}.
pattern = The pattern is {}. / A {} design.
connection = {Cap} connection. / A {} model.
connector = {Cap} plug. / Uses {}.
firmness = {Cap} support. / Feels {}.
socket = Fits {} sockets. / {Cap} base.
tone = Gives {} light. / The light is {}.
scent = Smells of {}. / Scent: {}.
skin = Suits {}. / Developed for {}.
hair = Suits {}. / Developed for {}.
stage = {Cap} recipe. / Balanced {} formula.
variety = Type: {}. / This is the {} kind.
paper = {Cap} format. / Sheet size {}.
ruling = The pages are {}. / {Cap} pages.
tip = {Cap} for clean lines.
battery = The battery holds {}. / Capacity: {}.
storage = Offers {} of storage. / {Cap} of space.
power = Rated at {}. / Power: {}.
length = Measures {}. / Length: {}.
diameter = Measures {} across. / Diameter: {}.
volume = Holds {}. / Volume: {}.
weight = Weighs {}. / Net weight: {}.
screen = For a {} diagonal. / Screen size {}.
light = Shines with {}. / Brightness: {}.
voltage = Runs on {}.
thickness = The thickness is {}.
pieces = Contains {}. / A set with {}.
sheets = Comes with {}.
persons = Room for {}. / Sleeps: {}.
players = Made for {}.
seats = Seating: {}.
ports = Offers {}.
tiers = Has {}.
capsules = The box holds {}.
bags = The box holds {}.
shoe = The size is {}. / Sizing: {}.
spf = Protects with {}. / Sun protection factor: {}.
pack = You get a {}. / Sold as a {}.
fits = Fits the {}. / Compatible with {}. / Made to match the {}.
model = This is the {}. / Model: {}.
"""

OPENERS = """
{This} {noun} {is} made for {use}.
Ideal for {use}.
Designed for {use}.
Looking for {a} {noun} for {use}? Here you go.
A good choice for {use}.
{Brand} built the {model} for {use}.
From the {model} series by {brand}: {noun} for {use}.
Great for {use}, and easy to like.
Think of {use}.
* Simple, sturdy and right for {use}.
"""

COMPANIONS = "Goes well with your {}. / Pair it with {a} {}. / Works nicely next to {a} {}."

ALIAS = "Also known as {}."

CLOSERS = """
* Two-year warranty.
Ships in recyclable packaging.
* Easy to clean.
Questions? Our team answers within a day.
Thirty-day returns.
Tested in our own lab.
A customer favorite since day one.
Now with improved quality.
* Please check the size before ordering.
* Colors may differ slightly from the picture.
Makes a nice present.
Limited stock.
"""

YES_NO = ("yes", "no")

FOR = "for {}"

ASK = """
for = for {} / compatible with {} / {}
part = with {} / w/ {} / {}
no part = without {} / no {} / w/o {}
content = with {} / containing {} / {}
no content = without {} / no {} / {} free
ne = not {} / anything but {} / other than {}
at_least = {} or more / at least {} / {}+
at_most = up to {} / max {} / {} or less
"""
"""How people type a condition."""
