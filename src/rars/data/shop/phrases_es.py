"""Spanish values, quantities and sentences.

Owns: the same tables as ``phrases_en``. A value that agrees with its noun lists its forms: two
(singular/plural) or four (masculine/feminine/masculine plural/feminine plural). In a sentence ``{o}`` is
the ending that agrees with the noun, ``{Este}`` the demonstrative, ``{es}`` the verb.
"""

from __future__ import annotations

VALUES = """
[color]
black = negro/negra/negros/negras | oscuro, azabache
white = blanco/blanca/blancos/blancas | color nieve, marfil
gray = gris/grises | plomo, antracita
silver = plateado/plateada/plateados/plateadas | plata, metalizado
blue = azul/azules | celeste, azul cielo
navy = azul marino | azul oscuro, marino
red = rojo/roja/rojos/rojas | granate, colorado
green = verde/verdes | oliva, esmeralda
pink = rosa | rosado, rosita
beige = beige | crema, arena
brown = marrón/marrones | café, castaño
yellow = amarillo/amarilla/amarillos/amarillas | mostaza, limón
purple = morado/morada/morados/moradas | lila, violeta
orange = naranja | anaranjado, color mandarina
[material]
aluminum = aluminio | alu
bamboo = bambú | bambu natural
beeswax = cera de abeja | cera natural
canvas = lona | tela gruesa
carbon_fiber = fibra de carbono | carbono
carbon_steel = acero al carbono | acero carbono
cardboard = cartón | cartulina
cast_iron = hierro fundido | hierro
ceramic = cerámica | porcelana
clay = arcilla | bentonita
cork = corcho | corcho natural
cotton = algodón | 100% algodón
down = plumón | plumas, pluma
fabric = tela | tejido
faux_leather = piel sintética | polipiel, cuero vegano
felt = fieltro | fieltro de lana
fleece = forro polar | polar, borreguito
glass = vidrio | cristal, borosilicato
latex = látex | latex natural
leather = cuero | piel, piel auténtica
linen = lino | lino natural
marble = mármol | piedra
memory_foam = espuma viscoelástica | viscoelástica, memory foam
mesh = malla | red transpirable
microfiber = microfibra | micro fibra
neoprene = neopreno | neopreno acolchado
nylon = nailon | nylon, trenzado
oak = roble | madera maciza
paraffin = parafina | cera de parafina
pine = pino | madera de pino
plastic = plástico | plástico sin bpa
polycarbonate = policarbonato | rígido
polyester = poliéster | sintético
pvc = PVC | vinilo
rubber = caucho | goma
silica = gel de sílice | sílice, perlas
silicone = silicona | gel blando
soy_wax = cera de soja | soja
stainless_steel = acero inoxidable | inox, acero inox
steel = acero | metal
stoneware = gres | loza
tempered_glass = cristal templado | cristal 9h
terracotta = terracota | barro
titanium = titanio | metal ultraligero
tpe = TPE | termoplástico
tpu = TPU | plástico flexible, gel
velvet = terciopelo | velur
wood = madera | madera natural
wood_fiber = fibra de madera | pellets de madera
wool = lana | merino
[audience]
women = mujer | chica, señora
men = hombre | chico, caballero
kids = niños | niño, infantil
[size]
xs = talla XS | xs
s = talla S | s, pequeña
m = talla M | m, mediana
l = talla L | l, grande
xl = talla XL | xl
xxl = talla XXL | xxl
[bed]
single = cama individual | cama 90, individual
double = cama doble | cama 135, matrimonio
king = cama king size | cama 180, cama grande
[shape]
round = redondo/redonda/redondos/redondas | circular
square = cuadrado/cuadrada/cuadrados/cuadradas | forma cubo
rectangular = rectangular/rectangulares | alargado
oval = ovalado/ovalada/ovalados/ovaladas | oval
[pattern]
plain = liso/lisa/lisos/lisas | un solo color
striped = a rayas | rayado, rayas
floral = de flores | estampado floral, florecitas
checked = a cuadros | tartán, cuadros
dotted = de lunares | topos, lunares
[connection]
wireless = inalámbrico/inalámbrica/inalámbricos/inalámbricas | bluetooth, sin cables
wired = con cable | cableado
[connector]
usb_c = USB-C | tipo c, usb c
usb_a = USB-A | usb a, usb normal
micro_usb = micro USB | microusb, android antiguo
[firmness]
soft = blando/blanda/blandos/blandas | suave
medium = de firmeza media | intermedia, media
firm = firme/firmes | dura
[socket]
e27 = E27 | e27, rosca gorda
e14 = E14 | e14, rosca fina
gu10 = GU10 | gu10, ojo de buey
[tone]
warm = luz cálida | cálida, 2700k
neutral = luz neutra | luz natural, 4000k
cool = luz fría | luz blanca, 6500k
multicolor = multicolor | rgb, de colores
[scent]
vanilla = vainilla | olor dulce
lavender = lavanda | relajante
rose = rosas | olor a flores
sandalwood = sándalo | olor a madera
citrus = cítricos | limón, olor a naranja
coconut = coco | tropical
[skin]
dry_skin = piel seca | piel deshidratada
oily_skin = piel grasa | piel con brillos
sensitive_skin = piel sensible | piel irritada
mature_skin = piel madura | más de 50 años
[hair]
normal_hair = cabello normal | todo tipo de pelo
dry_hair = cabello seco | pelo dañado
oily_hair = cabello graso | pelo graso
colored_hair = cabello teñido | pelo con tinte
[stage]
puppy = cachorros | perritos
adult_dog = adultos | perro adulto
senior_dog = sénior | perro mayor
kitten = cachorros | gatitos, kitten
adult_cat = adultos | gato adulto
senior_cat = sénior | gato mayor
[variety]
chicken = de pollo | ave
beef = de ternera | buey, vacuno
salmon = de salmón | pescado
lamb = de cordero | oveja
tuna = de atún | bonito
dark_roast = de tueste oscuro | intenso, fuerte
medium_roast = de tueste medio | equilibrado
light_roast = de tueste claro | suave
green_tea = verde | sencha
black_tea = negro | desayuno inglés
chamomile = de manzanilla | para dormir
mint = de menta | hierbabuena
rooibos = rooibos | té rojo
dark_chocolate = negro | amargo, 70%
milk_chocolate = con leche | cremoso
white_chocolate = blanco | sin cacao
almonds = almendras | almendra
cashews = anacardos | anacardo
walnuts = nueces | nuez
pistachios = pistachos | pistacho
mixed_nuts = mezcla | surtido
bear = de oso | oso
rabbit = de conejo | conejito
dog = de perro | perrito
cat = de gato | gatito
elephant = de elefante | elefantito
dinosaur = de dinosaurio | dino
landscape = de paisaje | naturaleza
animals = de animales | fauna
city = de ciudad | ciudades, edificios
world_map = de mapamundi | mapa
strategy = de estrategia | táctico
cooperative = cooperativo | colaborativo
card_game = de cartas | naipes
quiz = de preguntas | trivial
[paper]
a3 = A3 | din a3
a4 = A4 | din a4
a5 = A5 | din a5
a6 = A6 | din a6, de bolsillo
[ruling]
lined = de rayas | pautado, rayado
dotted_grid = de puntos | punteado
squared = de cuadrícula | cuadriculado
blank = de hojas lisas | hojas en blanco
[tip]
fine_tip = de punta fina | fino
medium_tip = de punta media | 1.0
broad_tip = de punta gruesa | grueso, biselado
"""

MODIFIERS = {
    "material": "de {}",
    "audience": "para {}",
    "bed": "para {}",
    "scent": "con aroma a {}",
}

QUANTITIES = """
battery = # mAh; #mAh | #mah; #/1000 Ah; #/1000ah
storage = # GB; #GB; #/1000 TB | #gb; # gigas; #/1000 teras
power = # W; #W | #w; # vatios; #/1000 kw
length = # cm; #cm; #/100 m | # centímetros; #/100m; #/100 metros; #*10 mm
diameter = # cm; #cm | # centímetros; #*10 mm; #cm de diámetro
volume = # ml; #ml; #/1000 l | #/1000 litros; #/10 cl; #/1000l
weight = # g; #/1000 kg | #g; #/1000kg; #/1000 kilos; # gramos
screen = # pulgadas; #" | # pulg; #"
light = # lm; # lúmenes | #lm; # lumenes
voltage = # V; #V | #v; # voltios
thickness = # mm; # mm de grosor | #mm; #/10 cm de grosor
pieces = # piezas; # pzs | # pz; de # piezas
sheets = # hojas; # folios | de # hojas; # h
persons = # personas; para # personas | # pers; # plazas
players = # jugadores; hasta # jugadores | para # personas; # jug
seats = # plazas; de # plazas | # asientos; para # personas
ports = # puertos; de # puertos | # en 1; # salidas
tiers = # niveles; de # niveles | # baldas; # pisos
capsules = # cápsulas; # unidades | # dosis; # uds
bags = # bolsitas; # sobres | # bolsas; # uds
shoe = talla #; EU # | # eu; nº #; numero #
spf = SPF #; FPS # | spf#; factor #
pack = pack de #; # unidades; lote de # | x#; # uds; juego de #
"""

SENTENCES = """
color = Color {}. / Acabado en color {}. / Disponible en {}.
material = Fabricad{o} en {}. / Material: {}. / Hech{o} de {}.
audience = De nuestra colección para {}. / Modelo para {}.
size = Es la {}. / {Cap}: consulta la guía de tallas.
bed = Para {}. / Medidas para {}.
shape = Forma: {}. / Diseño {}.
pattern = Estampado: {}. / Diseño {}.
connection = Conexión: {}. / Modelo {}.
connector = Conector {}. / Con conexión {}.
firmness = Nivel: {}. / Sensación: {}.
socket = Casquillo {}. / Para portalámparas {}.
tone = Ofrece {}. / Tono: {}.
scent = Aroma a {}. / Huele a {}.
skin = Adecuad{o} para {}. / Formulad{o} para {}.
hair = Adecuad{o} para {}. / Formulad{o} para {}.
stage = Receta para {}. / Equilibrad{o} para {}.
variety = Variedad: {}. / Tipo: {}.
paper = Formato {}. / Tamaño {}.
ruling = Páginas {}. / Interior {}.
tip = Modelo {}.
battery = Capacidad de {}. / La batería ofrece {}.
storage = Con {} de almacenamiento. / Memoria: {}.
power = Potencia de {}. / Alcanza {}.
length = Mide {}. / Longitud: {}.
diameter = Diámetro de {}. / Mide {} de diámetro.
volume = Capacidad de {}. / Volumen: {}.
weight = Pesa {}. / Peso neto: {}.
screen = Para una diagonal de {}. / Tamaño de pantalla: {}.
light = Ilumina con {}. / Brillo: {}.
voltage = Funciona a {}.
thickness = Grosor: {}.
pieces = Contiene {}. / Incluye {}.
sheets = Incluye {}.
persons = Espacio para {}. / Capacidad: {}.
players = Número de jugadores: {}.
seats = Asiento: {}.
ports = Dispone de {}.
tiers = Tiene {}.
capsules = La caja trae {}.
bags = La caja trae {}.
shoe = Es la {}.
spf = Protege con {}. / Factor de protección: {}.
pack = Se vende en {}. / Recibirás un {}.
fits = Compatible con {}. / Hech{o} a medida para {}. / Vale para {}.
model = Modelo {}. / Es el modelo {}.
"""

OPENERS = """
{Este} {noun} {es} perfect{o} para {use}.
Ideal{es2} para {use}.
Diseñad{o} para {use}.
¿Buscas {un} {noun} para {use}? Aquí {lo} tienes.
Una buena elección para {use}.
{Brand} ha creado {model} para {use}.
De la serie {model} de {brand}: {noun} para {use}.
* Pensad{o} para {use} y fácil{es2} de usar.
Piensa en {use}.
* Sencill{o}, resistente{s} y list{o} para {use}.
"""

COMPANIONS = "Combina bien con {tu} {}. / Va muy bien con {un} {}. / Pensado para usar con {tu} {}."

ALIAS = "También se conoce como {}."

CLOSERS = """
* Dos años de garantía.
Embalaje reciclable.
* Fácil de limpiar.
¿Dudas? Respondemos en un día.
Treinta días para devoluciones.
Probado en nuestro laboratorio.
De los favoritos de nuestros clientes.
Ahora con mejor calidad.
* Revisa las medidas antes de comprar.
* El color puede variar ligeramente respecto a la foto.
Un regalo que gusta.
Existencias limitadas.
"""

YES_NO = ("sí", "no")

FOR = "para {}"

ASK = """
for = para {} / compatible con {} / {}
part = con {} / {} / que tenga {}
no part = sin {} / que no tenga {} / sin {}
content = con {} / {}
no content = sin {} / libre de {} / 0% {}
ne = que no sea {} / no {} / excepto {}
at_least = {} o más / mínimo {} / al menos {}
at_most = hasta {} / máximo {} / {} o menos
"""
