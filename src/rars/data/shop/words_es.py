"""Spanish names of departments, middle categories and leaf categories.

Owns: the same table as ``words_en``. Each title name carries its agreement: ``(m)``, ``(f)``, ``(mp)``,
``(fp)``. ``use:`` is what comes after "para" in a description.
"""

from __future__ import annotations

DEPARTMENTS = """
electronics = Electrónica
computing = Informática
kitchen = Cocina
home = Hogar
furniture = Muebles
clothing = Ropa
luggage = Zapatos y equipaje
sports = Deportes y aire libre
beauty = Belleza y cuidado personal
pets = Mascotas
grocery = Alimentación
toys = Juguetes y juegos
tools = Bricolaje y jardín
office = Oficina y papelería
"""

MIDDLES = """
phones = Móviles y accesorios
charging = Carga y energía
audio = Sonido
wearables = Relojes inteligentes y correas
photo = Fotografía
computers = Ordenadores y tabletas
peripherals = Periféricos
storage = Almacenamiento
printing = Impresión
cookware = Sartenes y ollas
drinkware = Vasos, tazas y botellas
preparation = Preparación y conservación
appliances = Pequeños electrodomésticos
bedding = Ropa de cama
bathroom = Baño
lighting = Iluminación
decor = Decoración
seating = Asientos
tables = Mesas
shelving = Estanterías y zapateros
tops = Camisetas, sudaderas y chaquetas
bottoms = Pantalones
accessories = Complementos
shoes = Calzado
bags = Bolsos y maletas
fitness = Fitness
cycling = Ciclismo
camping = Acampada
hair = Cuidado del cabello
skin = Cuidado de la piel
shaving = Afeitado
dogs = Perros
cats = Gatos
drinks = Café e infusiones
pantry = Despensa y aperitivos
play = Juguetes
games = Juegos
workshop = Taller
garden = Jardín
cleaning = Limpieza
paper = Papel
writing = Escritura
filing = Archivo
"""

LEAVES = """
smartphone = Teléfonos móviles | teléfono móvil (m), smartphone (m)
  ask: celular, móvil libre, móvil barato, terminal
  use: llamadas, fotos y todo lo demás; quien lo hace todo desde la pantalla
phone_case = Fundas de móvil | funda de móvil (f), carcasa protectora (f)
  ask: cubierta para celular, cover teléfono, protector trasero, estuche de móvil
  use: resistir las caídas; llevar el teléfono en el bolsillo sin abultar
screen_protector = Protectores de pantalla | protector de pantalla (m), cristal protector (m)
  ask: lámina antiarañazos, film para móvil, vidrio templado, mica
  use: evitar arañazos; ver con nitidez y sin burbujas
power_bank = Baterías externas | batería externa (f), cargador portátil (m)
  ask: powerbank, power bank, pila recargable para móvil, batería de viaje
  use: viajes largos; días enteros lejos de un enchufe
wall_charger = Cargadores de pared | cargador de pared (m), adaptador de corriente (m)
  ask: enchufe usb, cabezal de carga rápida, clavija para móvil, transformador
  use: cargar durante la noche; una carga rápida antes de salir
charging_cable = Cables de carga | cable de carga (m), cable cargador (m)
  ask: cordón usb, cable de datos, latiguillo usb, cable alimentación móvil
  use: el coche, la mesa y la mesilla; cargar a diario sin que se deshilache
earbuds = Auriculares de botón | auriculares de botón (mp), auriculares intraurales (mp)
  ask: pinganillos, in ear, cascos pequeños, audífonos
  use: el transporte público y salir a correr; hablar por teléfono en movimiento
headphones = Auriculares de diadema | auriculares de diadema (mp), auriculares supraaurales (mp)
  ask: cascos, cascos de música, headset, cascos grandes
  use: escuchar música durante horas; concentrarse en una oficina ruidosa
speaker = Altavoces portátiles | altavoz portátil (m), altavoz bluetooth (m)
  ask: bafle, parlante, bocina, cajita de música
  use: fiestas en el jardín; escuchar música en la cocina
smartwatch = Relojes inteligentes | reloj inteligente (m), smartwatch (m)
  ask: pulsera de actividad, reloj deportivo, reloj con pulsómetro, reloj conectado
  use: seguir los entrenamientos y el sueño; leer mensajes sin sacar el móvil
watch_strap = Correas de reloj | correa de reloj (f), correa de repuesto (f)
  ask: brazalete smartwatch, pulsera de recambio, banda para reloj, cinta de muñeca
  use: renovar un reloj antiguo; el gimnasio y la oficina
camera = Cámaras de fotos | cámara digital (f), cámara compacta (f)
  ask: cámara de fotos, máquina fotográfica, cámara para vlogs, fotocámara
  use: las vacaciones en familia; fotos nítidas con poca luz
tripod = Trípodes | trípode (m), trípode de viaje (m)
  ask: soporte para cámara, pie de cámara, patas para cámara, sujeta cámara
  use: fotos nocturnas sin temblores; fotos de grupo en las que salen todos
camera_bag = Bolsas para cámara | bolsa para cámara (f), funda para cámara (f)
  ask: estuche fotográfico, bolso réflex, maletín de fotógrafo, mochilita objetivo
  use: llevar el cuerpo y dos objetivos; excursiones con equipo
laptop = Portátiles | ordenador portátil (m), portátil (m)
  ask: laptop, computadora portátil, ultrabook, pc para estudiar
  use: estudiar y trabajar; trabajar desde cualquier sitio
tablet = Tabletas | tableta (f), tablet (f)
  ask: pantalla táctil portátil, tableta digital, pad táctil, tablet barata
  use: leer y ver series en el sofá; tomar apuntes en clase
laptop_sleeve = Fundas de portátil | funda de portátil (f), maletín de portátil (m)
  ask: cartera ordenador, sobre acolchado para pc, estuche para laptop, bolsa de ordenador
  use: viajar sin golpes en cualquier mochila; reuniones por toda la ciudad
mouse = Ratones | ratón (m), ratón de ordenador (m)
  ask: mouse, mause, ratoncito pc, puntero para ordenador
  use: trabajar con precisión y jugar a gusto; mesas pequeñas
keyboard = Teclados | teclado (m), teclado de ordenador (m)
  ask: keyboard, teclas para pc, tablero de teclas, teclado qwerty
  use: escribir todo el día; un escritorio ordenado
usb_hub = Concentradores USB | concentrador USB (m), adaptador multipuerto (m)
  ask: hub, ladrón usb, multiplicador de puertos, regleta usb
  use: portátiles con pocos puertos; conectarlo todo a la vez
usb_stick = Memorias USB | memoria USB (f), pendrive (m)
  ask: lápiz de memoria, pincho usb, llave usb, pen drive
  use: mover archivos entre ordenadores; llevar copias en el llavero
memory_card = Tarjetas de memoria | tarjeta de memoria (f), tarjeta microSD (f)
  ask: tarjeta sd, micro sd, sd para cámara, memoria para móvil
  use: horas de vídeo; ampliar cualquier dispositivo
external_drive = Discos externos | disco duro externo (m), SSD portátil (m)
  ask: hdd portátil, disco de copia de seguridad, almacenamiento usb, disco backup
  use: guardar copias de todo; grandes colecciones de juegos
printer = Impresoras | impresora (f), impresora multifunción (f)
  ask: fotocopiadora de casa, máquina de imprimir, escáner copiadora, equipo multifunción
  use: los deberes y el teletrabajo; imprimir fotos en casa
ink_cartridge = Cartuchos de tinta | cartucho de tinta (m), tinta de recambio (f)
  ask: tóner, recarga de impresora, cartuchos compatibles, repuesto tinta
  use: textos limpios hasta la última página; impresiones vivas y duraderas
frying_pan = Sartenes | sartén (f), sartén de cocina (f)
  ask: paila, skillet, sartén para tortillas, sartén huevos
  use: tortillas que no se pegan; dorar carne
saucepan = Cazos y ollas | cazo (m), cacerola (f)
  ask: olla, pote, perol, ollita
  use: salsas, sopas y papillas; cocinas pequeñas
water_bottle = Botellas de agua | botella de agua (f), botella deportiva (f)
  ask: cantimplora, bidón gimnasio, termo agua fría, bote para beber
  use: el gimnasio y la oficina; excursiones largas
travel_mug = Vasos térmicos | vaso térmico (m), taza de viaje (f)
  ask: termo café, termo para llevar, vaso para llevar, mug térmico
  use: el camino al trabajo; tener café caliente en la mesa
coffee_mug = Tazas | taza de café (f), taza (f)
  ask: mug, tazón desayuno, pocillo, jarrita
  use: desayunos sin prisa; la cocina de la oficina
kitchen_knife = Cuchillos de cocina | cuchillo de chef (m), cuchillo de cocina (m)
  ask: santoku, cebollero, cuchilla para cocinar, cuchillo jamonero
  use: picar, cortar y filetear; cocineros que quieren buen filo
cutting_board = Tablas de cortar | tabla de cortar (f), tabla de cocina (f)
  ask: tajo, base para picar, tablón de cocina, tablita quesos
  use: verduras, pan y carne; servir quesos
food_container = Recipientes para alimentos | recipiente para alimentos (m), táper hermético (m)
  ask: fiambrera, tupper, lonchera, bote comida
  use: sobras y cocina de domingo; llevar la comida al trabajo
kettle = Hervidores | hervidor eléctrico (m), hervidor de agua (m)
  ask: pava, tetera eléctrica, calentador para té, jarra para hervir
  use: un té rápido; desayunos en familia
coffee_machine = Cafeteras | cafetera de cápsulas (f), máquina de café (f)
  ask: cafetera express, espresso automático, cafetera monodosis, aparato para espressos
  use: un café solo con pulsar un botón; cocinas pequeñas y mañanas largas
blender = Batidoras | batidora de vaso (f), licuadora (f)
  ask: mezcladora, triturador de frutas, turmix, máquina de smoothies
  use: batidos y cremas; picar hielo
pillow = Almohadas | almohada (f), almohada de cama (f)
  ask: cojín para dormir, cabezal de cama, reposacabezas para dormir, almohadón
  use: dormir de lado o boca arriba; noches frescas
duvet_cover = Fundas nórdicas | funda nórdica (f), juego de funda nórdica (m)
  ask: juego de cama, edredón funda, ropa para la cama, cubre edredón
  use: un dormitorio tranquilo; todo el año
blanket = Mantas | manta (f), manta de sofá (f)
  ask: cobija, plaid, frazada, cobertor
  use: noches de película; tardes frescas de verano
bath_towel = Toallas de baño | toalla de baño (f), juego de toallas (m)
  ask: toallones, paño de ducha, sábana de baño, toallas lavabo
  use: secarse con suavidad; el baño de invitados
shower_curtain = Cortinas de ducha | cortina de ducha (f), cortina de baño (f)
  ask: mampara de tela, cortinilla bañera, tela para la ducha, cortinas bañera
  use: mantener seco el suelo; alegrar un baño sencillo
desk_lamp = Lámparas de escritorio | lámpara de escritorio (f), lámpara de mesa (f)
  ask: flexo, luz de estudio, luz de lectura, foco para mesa
  use: leer hasta tarde; trabajar con concentración
light_bulb = Bombillas | bombilla LED (f), bombilla (f)
  ask: foco led, lámpara de bajo consumo, ampolleta, luz led repuesto
  use: salones y pasillos; sustituir bombillas antiguas
string_lights = Guirnaldas de luces | guirnalda de luces (f), cadena de luces (f)
  ask: lucecitas, luces de navidad, luces de hadas, tira decorativa exterior
  use: balcones y terrazas; fiestas y celebraciones
candle = Velas | vela aromática (f), vela perfumada (f)
  ask: cirio, velón, ambientador de cera, velita
  use: veladas tranquilas; un regalo que siempre gusta
cushion_cover = Fundas de cojín | funda de cojín (f), funda decorativa (f)
  ask: cojines sofá, forro almohadón, cubre cojines, fundas salón
  use: renovar un sofá viejo; combinar colores
office_chair = Sillas de oficina | silla de oficina (f), silla ergonómica (f)
  ask: sillón de ordenador, asiento giratorio, silla gaming, butaca de despacho
  use: jornadas de ocho horas; un despacho en casa más sano
sofa = Sofás | sofá (m), sofá de salón (m)
  ask: tresillo, sillón grande, couch, diván
  use: tardes en familia; salones pequeños
desk = Escritorios | escritorio (m), mesa de escritorio (f)
  ask: mesa de ordenador, mesa de estudio, mesa de trabajo, buró
  use: trabajar en casa; deberes y aficiones
coffee_table = Mesas de centro | mesa de centro (f), mesa auxiliar (f)
  ask: mesita de salón, mesa baja, mesita sofá, mesita de café
  use: revistas, tazas y mandos; el centro del salón
bookcase = Librerías | estantería (f), librería (f)
  ask: estante para libros, mueble libros, repisa alta, biblioteca mueble
  use: libros, plantas y fotos; paredes estrechas
shoe_rack = Zapateros | zapatero (m), mueble zapatero (m)
  ask: organizador de calzado, estante zapatillas, guarda zapatos, mueble de recibidor
  use: una entrada ordenada; familias con muchos zapatos
t_shirt = Camisetas | camiseta (f), camiseta de manga corta (f)
  ask: playera, remera, polera, t shirt
  use: cualquier día de la semana; llevar debajo de todo
hoodie = Sudaderas | sudadera (f), sudadera con capucha (f)
  ask: jersey deportivo, buzo, hoodie, polerón
  use: fines de semana tranquilos; calentar antes de entrenar
rain_jacket = Chubasqueros | chubasquero (m), chaqueta impermeable (f)
  ask: gabardina de lluvia, cortavientos, parka lluvia, impermeable
  use: ir al trabajo con lluvia; el tiempo cambiante de la montaña
jeans = Vaqueros | vaqueros (mp), pantalones vaqueros (mp)
  ask: tejanos, jeans, denim, mezclilla
  use: el trabajo y el fin de semana; un aspecto clásico
leggings = Mallas | mallas (fp), leggings (mp)
  ask: leguins, calzas, pantalón de yoga, licras
  use: yoga y correr; estar en casa con comodidad
cap = Gorras | gorra (f), gorra de béisbol (f)
  ask: sombrero de sol, visera, cachucha, gorro de verano
  use: días de sol; los días en que el pelo no colabora
socks = Calcetines | calcetines (mp), calcetines deportivos (mp)
  ask: medias cortas, tobilleros, pinkis, soquetes
  use: días largos de pie; el deporte y el diario
belt = Cinturones | cinturón (m), cinturón de vestir (m)
  ask: correa pantalón, cinto, faja de cuero, ceñidor
  use: trajes y vaqueros; llevar a diario
running_shoes = Zapatillas de correr | zapatillas de correr (fp), zapatillas deportivas (fp)
  ask: tenis, bambas, deportivas, playeras running
  use: correr en asfalto y en cinta; caminar todo el día
hiking_boots = Botas de montaña | botas de montaña (fp), botas de senderismo (fp)
  ask: botas trekking, calzado outdoor, bota de campo, zapatos monte
  use: caminos de piedra; sendas mojadas
sandals = Sandalias | sandalias (fp), sandalias de verano (fp)
  ask: chanclas, zapatos abiertos, cangrejeras, ojotas
  use: la playa y la ciudad; noches de calor
backpack = Mochilas | mochila (f), mochila de día (f)
  ask: macuto, morral, bolsa de espalda, mochila escolar
  use: la escuela y el trabajo; excursiones de fin de semana
suitcase = Maletas | maleta (f), maleta de cabina (f)
  ask: equipaje de mano, valija, trolley, maletón viaje
  use: escapadas; vuelos largos
handbag = Bolsos | bolso de mano (m), bolso (m)
  ask: cartera de mujer, bandolera, tote, bolsito
  use: lo imprescindible de cada día; la oficina y la cena de después
yoga_mat = Esterillas de yoga | esterilla de yoga (f), colchoneta de ejercicio (f)
  ask: alfombrilla pilates, mat, tapete, estera gimnasia
  use: yoga, pilates y estiramientos; suelos duros
dumbbell = Mancuernas | mancuerna (f), pesa de mano (f)
  ask: pesas, pesas gimnasio, pesa para brazos, halteras
  use: entrenar fuerza en casa; tonificar brazos y hombros
resistance_band = Bandas elásticas | banda elástica (f), banda de resistencia (f)
  ask: gomas de ejercicio, cintas para entrenar, ligas gimnasio, tensor fitness
  use: rehabilitación y calentamiento; entrenar de viaje
bike_helmet = Cascos de bicicleta | casco de bicicleta (m), casco de ciclismo (m)
  ask: casco bici, casco patinete, casco mtb, protección cabeza ciclista
  use: el trayecto diario; carretera y montaña
bike_light = Luces de bicicleta | luz de bicicleta (f), faro de bicicleta (m)
  ask: linterna bici, foco delantero bici, luces ciclismo, lámpara para manillar
  use: ser visto de noche; salir temprano
tent = Tiendas de campaña | tienda de campaña (f), tienda de camping (f)
  ask: carpa, iglú camping, tienda instantánea, refugio acampada
  use: festivales y fines de semana al aire libre; noches de viento
sleeping_bag = Sacos de dormir | saco de dormir (m), saco momia (m)
  ask: bolsa de dormir, saco camping, saco acampada, saco térmico
  use: noches frías en la tienda; dormir en casa de amigos
camping_stove = Hornillos de camping | hornillo de camping (m), hornillo de gas (m)
  ask: cocinilla, infiernillo, fogón portátil, quemador de gas
  use: comidas calientes en ruta; meriendas en el campo
shampoo = Champús | champú (m), champú para el cabello (m)
  ask: shampoo, jabón de pelo, limpiador capilar, lavado de cabello
  use: un pelo suave y brillante; lavar a diario
hair_dryer = Secadores de pelo | secador de pelo (m), secador (m)
  ask: secadora de cabello, pistola de aire, soplador pelo, secador profesional
  use: secar rápido por la mañana; un peinado liso
face_cream = Cremas faciales | crema facial (f), crema hidratante (f)
  ask: loción para la cara, crema de día, antiarrugas, hidratación rostro
  use: el cuidado de día y de noche; una piel fresca
sunscreen = Protectores solares | protector solar (m), crema solar (f)
  ask: bronceador, filtro uv, leche para el sol, bloqueador
  use: la playa y la montaña; protegerse a diario
hand_soap = Jabones de manos | jabón de manos (m), jabón líquido (m)
  ask: gel lavamanos, dispensador de jabón, gel manos, lavado manos
  use: la cocina y el baño; lavarse a diario con suavidad
electric_shaver = Afeitadoras | afeitadora eléctrica (f), máquina de afeitar (f)
  ask: rasuradora, maquinilla, cortabarba, máquina barba
  use: un afeitado rápido y apurado; cuellos sensibles
shaver_head = Cabezales de afeitado | cabezal de repuesto (m), cabezal de afeitado (m)
  ask: cuchillas de recambio, láminas afeitadora, recambio maquinilla, hojas de repuesto
  use: recuperar un afeitado apurado; el cambio anual de cuchillas
dog_food = Comida para perros | pienso para perros (m), comida para perros (f)
  ask: croquetas perro, alimento canino, alimento mascota can, comida perruna
  use: un pelo brillante y unas articulaciones fuertes; compañeros activos
dog_leash = Correas para perros | correa para perros (f), correa de paseo (f)
  ask: cuerda para perro, ramal adiestramiento, cinta paseo can, trailla
  use: paseos nocturnos; perros que tiran
dog_bed = Camas para perros | cama para perros (f), colchón para perros (m)
  ask: cesta mascota, cuna perrito, cojín can, sofá perro
  use: articulaciones cansadas y sueño profundo; transportines y rincones
cat_food = Comida para gatos | pienso para gatos (m), comida para gatos (f)
  ask: croquetas gato, alimento felino, comida minino, alimento gatuno
  use: gatos de interior y exterior; paladares exigentes
cat_litter = Arena para gatos | arena para gatos (f), arena aglomerante (f)
  ask: lecho sanitario, piedras gato, arenilla felina, tierra de gato
  use: casas con varios gatos; controlar el olor
scratching_post = Rascadores | rascador para gatos (m), árbol para gatos (m)
  ask: poste sisal, torre felina, trepador minino, rasca uñas
  use: salvar el sofá de las uñas; trepar y dormir la siesta
coffee_beans = Café en grano | café en grano (m), café de tueste natural (m)
  ask: granos de espresso, arábica, café tostado, cafe gourmet
  use: cafeteras superautomáticas; café de filtro y de émbolo
coffee_capsules = Cápsulas de café | cápsulas de café (fp), café en cápsulas (m)
  ask: monodosis espresso, dosis cafetera, pods, recambio cafetera
  use: un café en segundos; probar un tueste nuevo cada día
tea = Té e infusiones | té (m), té natural (m)
  ask: infusión, tisana, hierbas para infusionar, bebida caliente
  use: una tarde tranquila; empezar el día con calor
olive_oil = Aceite de oliva | aceite de oliva virgen extra (m), aceite de oliva (m)
  ask: aove, oro líquido, aceite para ensalada, zumo de aceituna
  use: ensaladas y guisos; mojar pan recién hecho
chocolate = Chocolate | chocolate (m), chocolate artesano (m)
  ask: cacao onzas, choco, dulce de cacao, golosina cacao
  use: los antojos dulces; repostería y compartir
nuts = Frutos secos | frutos secos (mp), frutos secos naturales (mp)
  ask: aperitivo sano, snack saludable, picoteo, fruta seca
  use: picar entre horas; muesli y repostería
building_blocks = Bloques de construcción | bloques de construcción (mp), ladrillos de construcción (mp)
  ask: piezas encajables, juego de construir, construcciones niños, cubos apilables
  use: castillos, coches y torres; tardes de lluvia
soft_toy = Peluches | peluche (m), muñeco de peluche (m)
  ask: osito, muñeco suave, animal de trapo, felpa
  use: abrazar al dormir; cumpleaños y bebés
puzzle = Puzles | puzle (m), rompecabezas (m)
  ask: puzzle, encajar fichas, juego de paciencia, jigsaw
  use: largas tardes de invierno; jugar en familia sin pantallas
console = Consolas | consola de videojuegos (f), videoconsola (f)
  ask: máquina de juegos, sistema gaming, aparato para jugar, equipo gamer
  use: noches de juego con amigos; jugar en la pantalla grande
game_controller = Mandos de juego | mando de juego (m), mando para consola (m)
  ask: joystick, gamepad, control gamer, palanca de juego
  use: partidas largas; un segundo jugador
board_game = Juegos de mesa | juego de mesa (m), juego familiar (m)
  ask: juego de tablero, juego para fiestas, pasatiempo grupo, tablero fichas
  use: tardes en familia; grupos de amigos
cordless_drill = Taladros a batería | taladro a batería (m), taladro atornillador (m)
  ask: atornilladora, perforadora, taladradora, drill sin cable
  use: estanterías y muebles; todos los arreglos de casa
screwdriver_set = Juegos de destornilladores | juego de destornilladores (m), set de destornilladores (m)
  ask: kit de reparación, puntas de precisión, desarmadores, herramienta electrónica
  use: aparatos y gafas; arreglos en casa
garden_hose = Mangueras | manguera de jardín (f), manguera de riego (f)
  ask: tubo para regar, manga de agua, goma riego, tubería césped
  use: césped y parterres; lavar el coche
plant_pot = Macetas | maceta (f), macetero (m)
  ask: tiesto, jardinera, matera, cubre tiestos
  use: hierbas en el balcón; plantas grandes de interior
vacuum_cleaner = Aspiradoras | aspiradora (f), aspiradora escoba (f)
  ask: aspirador, escoba eléctrica, barredora, limpiador de alfombras
  use: alfombras y suelos duros; casas con mascotas
vacuum_filter = Filtros de aspiradora | filtro de aspiradora (m), filtro HEPA de repuesto (m)
  ask: recambio aspirador, hepa, repuesto escoba eléctrica, accesorio aspirador
  use: un aire de salida limpio; recuperar la succión
mop = Fregonas y mopas | mopa (f), fregona plana (f)
  ask: trapeador, limpia suelos, lampazo, pasa suelos
  use: baldosas, madera y laminado; limpiezas rápidas
notebook = Cuadernos | cuaderno (m), libreta (f)
  ask: bloc, diario, agenda de notas, bullet journal
  use: ideas y listas de tareas; apuntes de clase
printer_paper = Papel de impresora | papel de impresora (m), papel para fotocopias (m)
  ask: folios, hojas blancas, resma, papel multifunción
  use: imprimir a diario; documentos a doble cara
ballpoint_pen = Bolígrafos | bolígrafo (m), bolígrafo de gel (m)
  ask: boli, lapicero tinta, esfero, pluma de bola
  use: una escritura suave; exámenes y firmas
marker = Rotuladores | rotulador (m), rotulador permanente (m)
  ask: subrayador, marcador, plumón, fluorescente texto
  use: etiquetas, cajas y carteles; apuntes por colores
ring_binder = Archivadores | archivador de anillas (m), carpeta de anillas (f)
  ask: clasificador, portafolios, carpesano, dossier documentos
  use: facturas y contratos; las asignaturas del colegio
"""
