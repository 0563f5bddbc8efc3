"""English names of departments, middle categories and leaf categories.

Owns: for each leaf ``key = Category name | title names`` (the first by far the commonest; ``(p)`` marks a
plural, ``(u)`` what cannot be counted), ``ask:`` names that people type but titles seldom use, and
``use:`` what comes after "for" in a description. Ignores values and sentences (``phrases_en``).
"""

from __future__ import annotations

DEPARTMENTS = """
electronics = Electronics
computing = Computers & Office Tech
kitchen = Kitchen & Dining
home = Home
furniture = Furniture
clothing = Clothing
luggage = Shoes & Bags
sports = Sports & Outdoors
beauty = Beauty & Personal Care
pets = Pet Supplies
grocery = Grocery
toys = Toys & Games
tools = Tools & Garden
office = Office & School Supplies
"""

MIDDLES = """
phones = Phones & Accessories
charging = Power & Charging
audio = Audio
wearables = Wearables
photo = Photo
computers = Computers & Tablets
peripherals = Keyboards, Mice & Hubs
storage = Data Storage
printing = Printing
cookware = Cookware
drinkware = Drinkware
preparation = Food Preparation & Storage
appliances = Small Appliances
bedding = Bedding
bathroom = Bathroom
lighting = Lighting
decor = Decor
seating = Seating
tables = Tables
shelving = Shelving & Racks
tops = Tops & Jackets
bottoms = Pants
accessories = Accessories
shoes = Shoes
bags = Bags & Luggage
fitness = Fitness
cycling = Cycling
camping = Camping
hair = Hair Care
skin = Skin Care
shaving = Shaving
dogs = Dogs
cats = Cats
drinks = Coffee & Tea
pantry = Pantry & Snacks
play = Toys
games = Games
workshop = Workshop
garden = Garden
cleaning = Cleaning
paper = Paper
writing = Pens & Markers
filing = Filing
"""

LEAVES = """
smartphone = Smartphones | smartphone, phone
  ask: cell phone, mobile phone, cellphone, handset
  use: calls, photos and everything in between; anyone whose day runs on one screen
phone_case = Phone Cases | phone case, protective case
  ask: mobile cover, bumper, cell phone shell, cellphone cover
  use: surviving drops on hard floors; a slim pocket
screen_protector = Screen Protectors | screen protector, protective film
  ask: anti scratch foil, display guard, tempered film for phone, scratch shield
  use: keeping scratches away; a clear, bubble-free view
power_bank = Power Banks | power bank, portable charger
  ask: external battery, battery pack, powerbank, backup battery
  use: long trips; days away from an outlet
wall_charger = Wall Chargers | wall charger, power adapter
  ask: charging brick, usb plug, fast charging block, phone plug
  use: charging overnight; a quick top-up before leaving home
charging_cable = Charging Cables | charging cable, charger cable
  ask: usb cord, data cable, phone lead, charge cord
  use: the car, the desk and the bedside; daily charging without frayed ends
earbuds = Earbuds | earbuds (p), in-ear headphones (p)
  ask: earphones, ear pods, in ears, buds
  use: commuting and running; calls on the move
headphones = Headphones | headphones (p), over-ear headphones (p)
  ask: headset, cans, head phones, on ear audio
  use: long listening sessions; concentrating in a noisy office
speaker = Portable Speakers | portable speaker, bluetooth speaker
  ask: boombox, music box, sound box for phone, loudspeaker
  use: garden parties; music in the kitchen
smartwatch = Smartwatches | smartwatch, smart watch
  ask: fitness watch, sports watch, activity tracker, wrist tracker
  use: tracking workouts and sleep; seeing messages without reaching for your pocket
watch_strap = Watch Bands | watch band, watch strap
  ask: replacement wristband, bracelet for smartwatch, wrist bracelet, band for watch
  use: giving an old watch a new look; workouts and office days alike
camera = Cameras | digital camera, compact camera
  ask: photo cam, vlogging cam, point and shoot, digicam
  use: family holidays; sharp pictures in low light
tripod = Tripods | tripod, travel tripod
  ask: camera stand, three leg stand, photo stand, camera legs
  use: steady night shots; group pictures with everyone in them
camera_bag = Camera Bags | camera bag, camera case
  ask: photo gear pouch, lens bag, photographers bag, dslr pouch
  use: carrying a body and two lenses; day trips with gear
laptop = Laptops | laptop, notebook computer
  ask: portable pc, ultrabook, computer for college, note book pc
  use: study and office work; working from anywhere
tablet = Tablets | tablet, tablet computer
  ask: touchscreen pad, slate, drawing pad computer, e tablet
  use: reading and streaming on the couch; taking notes in class
laptop_sleeve = Laptop Sleeves | laptop sleeve, laptop case
  ask: notebook pouch, computer cover, padded notebook bag, pc carry pouch
  use: a safe ride in any backpack; meetings across town
mouse = Mice | mouse, computer mouse
  ask: cursor mouse for pc, mice, clicker for laptop, pointing device
  use: precise work and relaxed gaming; small desks
keyboard = Keyboards | keyboard, computer keyboard
  ask: typing board, key board, pc keys, mechanical keys
  use: typing all day long; a tidy workspace
usb_hub = USB Hubs | USB hub, multiport adapter
  ask: port expander, docking dongle, usb splitter, port extender
  use: laptops with too few ports; plugging everything in at once
usb_stick = USB Flash Drives | USB flash drive, USB stick
  ask: thumb drive, pen drive, memory stick, jump drive
  use: moving files between computers; backups on a key ring
memory_card = Memory Cards | memory card, microSD card
  ask: sd card, micro sd, tf card, flash card for camera
  use: hours of video; more room on any device
external_drive = External Drives | external hard drive, portable SSD
  ask: backup disk, external hdd, portable disk, usb hard disk
  use: backups of everything you own; large game libraries
printer = Printers | printer, all-in-one printer
  ask: multifunction copier, home office print machine, photo printing machine, print scan copy device
  use: homework and home office; crisp photos at home
ink_cartridge = Ink Cartridges | ink cartridge, replacement ink (u)
  ask: printer refill, toner, printer cartridges, ink tank refill
  use: clean text to the last page; bright and lasting prints
frying_pan = Frying Pans | frying pan, skillet
  ask: fry pan, omelette pan, egg pan, sauté pan
  use: eggs that never stick; searing steak
saucepan = Saucepans | saucepan, sauce pot
  ask: small pot, milk pot, cooking pot, soup pot
  use: sauces, soups and porridge; small kitchens
water_bottle = Water Bottles | water bottle, sports bottle
  ask: drinking flask, hydration flask, canteen, gym bottle
  use: the gym and the office; long hikes
travel_mug = Travel Mugs | travel mug, insulated tumbler
  ask: to go cup, coffee thermos, commuter cup, thermal cup
  use: the morning commute; hot coffee at the desk
coffee_mug = Mugs | coffee mug, mug
  ask: tea cup, breakfast cup, ceramic cup, cocoa cup
  use: slow mornings; the office kitchen
kitchen_knife = Kitchen Knives | chef's knife, kitchen knife
  ask: cooks knife, santoku, chopping knife, cooking blade
  use: chopping, slicing and dicing; home cooks who want a sharp edge
cutting_board = Cutting Boards | cutting board, chopping board
  ask: butcher block, carving board, serving plank, bread board
  use: vegetables, bread and meat; serving cheese
food_container = Food Containers | food storage container, meal prep container
  ask: lunch box, plastic tub with lid, leftovers box, bento
  use: leftovers and meal prep; taking lunch to work
kettle = Electric Kettles | electric kettle, kettle
  ask: water boiler, tea boiler, hot water pot, water heater jug
  use: a quick cup of tea; family breakfasts
coffee_machine = Coffee Machines | coffee machine, capsule coffee maker
  ask: espresso maker, espresso machine, pod brewer, coffee brewer
  use: espresso at the push of a button; small kitchens with big mornings
blender = Blenders | blender, smoothie maker
  ask: mixer jar, liquidizer, shake maker, juicer mixer
  use: smoothies and soups; crushing ice
pillow = Pillows | pillow, bed pillow
  ask: head rest for sleeping, sleeping cushion, neck support for bed, side sleeper cushion
  use: side and back sleepers; a cool night's sleep
duvet_cover = Duvet Covers | duvet cover, duvet cover set
  ask: bedding set, comforter cover, quilt cover, bed linen
  use: a calm bedroom; all seasons
blanket = Blankets | throw blanket, blanket
  ask: sofa throw, cozy wrap, bedspread, plaid
  use: movie nights on the couch; cool summer evenings
bath_towel = Bath Towels | bath towel, towel set
  ask: shower towels, body towel, bath sheet, bathroom linen
  use: soft, quick drying after a shower; guest bathrooms
shower_curtain = Shower Curtains | shower curtain, bath curtain
  ask: tub liner, bathtub drape, shower liner, bathroom drapes
  use: keeping the floor dry; brightening up a plain bathroom
desk_lamp = Desk Lamps | desk lamp, table lamp
  ask: reading light, study lamp, led task light, bedside light
  use: late reading; focused work
light_bulb = Light Bulbs | LED bulb, light bulb
  ask: led lamp replacement, globe for lamp, energy saving lamp, bulbs
  use: living rooms and hallways; replacing old incandescents
string_lights = String Lights | string lights (p), fairy lights (p)
  ask: christmas lights, led garland, patio lighting, twinkle lights
  use: balconies and patios; parties and holidays
candle = Candles | scented candle, jar candle
  ask: aromatherapy wax, home fragrance, votive, aroma wax jar
  use: quiet evenings; a gift that always fits
cushion_cover = Throw Pillow Covers | cushion cover, throw pillow cover
  ask: decorative pillowcase, sofa pillow sham, couch pillow slip, scatter cushion case
  use: refreshing an old couch; mixing and matching colors
office_chair = Office Chairs | office chair, ergonomic chair
  ask: computer chair, swivel seat, gaming seat, desk seat
  use: eight-hour days; a healthier home office
sofa = Sofas | sofa, couch
  ask: settee, loveseat, living room seating, lounge
  use: family evenings; small living rooms
desk = Desks | desk, writing desk
  ask: computer table, work table, study table, workstation
  use: the home office; homework and hobbies
coffee_table = Coffee Tables | coffee table, side table
  ask: living room table, cocktail table, end table, sofa table
  use: magazines, cups and remotes; the center of the living room
bookcase = Bookcases | bookcase, bookshelf
  ask: book rack, shelving unit, display shelf, shelf for books
  use: books, plants and pictures; narrow walls
shoe_rack = Shoe Racks | shoe rack, shoe organizer
  ask: entryway shelf, shoe stand, shoe storage bench, sneaker shelf
  use: a tidy hallway; families with many pairs
t_shirt = T-Shirts | t-shirt, tee
  ask: short sleeve top, tshirt, crew neck, undershirt
  use: every day of the week; layering
hoodie = Hoodies | hoodie, hooded sweatshirt
  ask: pullover, sweater with hood, sweat shirt, hoody
  use: lazy weekends; warming up before training
rain_jacket = Rain Jackets | rain jacket, raincoat
  ask: waterproof coat, windbreaker, anorak, slicker
  use: rainy commutes; changing weather in the mountains
jeans = Jeans | jeans (p), denim pants (p)
  ask: denims, denim trousers, slim fit bottoms, straight leg pants
  use: work and weekends; a clean, classic look
leggings = Leggings | leggings (p), yoga pants (p)
  ask: tights, workout bottoms, gym tights, stretch pants
  use: yoga and running; lounging at home
cap = Caps | baseball cap, cap
  ask: hat, sun hat, ball cap, snapback
  use: sunny days; bad hair days
socks = Socks | socks (p), crew socks (p)
  ask: ankle hosiery, sport stockings, footies, sox
  use: long days on your feet; sports and everyday wear
belt = Belts | belt, dress belt
  ask: waist strap, trouser belt, waistband strap, pants holder
  use: suits and jeans; everyday wear
running_shoes = Running Shoes | running shoes (p), sneakers (p)
  ask: trainers, jogging footwear, tennis shoes, gym shoes
  use: road runs and treadmills; walking all day
hiking_boots = Hiking Boots | hiking boots (p), trekking shoes (p)
  ask: mountain footwear, walking boots, trail shoes, outdoor boots
  use: rocky trails; wet forest paths
sandals = Sandals | sandals (p), summer sandals (p)
  ask: open toe shoes, slides, flip flops, beach shoes
  use: beach and city; warm evenings
backpack = Backpacks | backpack, daypack
  ask: rucksack, school bag, book bag, knapsack
  use: school and work; weekend hikes
suitcase = Suitcases | suitcase, carry-on suitcase
  ask: luggage, trolley, rolling bag, travel case on wheels
  use: city breaks; long flights
handbag = Handbags | handbag, tote bag
  ask: purse, shoulder bag, ladies bag, crossbody
  use: everyday essentials; the office and dinner afterwards
yoga_mat = Yoga Mats | yoga mat, exercise mat
  ask: pilates mat, gym mat, workout pad, fitness mat
  use: yoga, Pilates and stretching; hard floors
dumbbell = Dumbbells | dumbbell, hand weight
  ask: free weights, gym weights, hand weights set, lifting weights
  use: strength training at home; toning arms and shoulders
resistance_band = Resistance Bands | resistance band, exercise band
  ask: stretch loop, elastic trainer, pull up strap, workout loops
  use: rehab and warm-ups; workouts while traveling
bike_helmet = Bike Helmets | bike helmet, cycling helmet
  ask: bicycle head protection, scooter helmet, mtb helmet, head guard
  use: the daily ride; road and trail
bike_light = Bike Lights | bike light, bicycle headlight
  ask: cycling lamp, front lamp for bike, handlebar torch, cycle flashlight
  use: being seen in the dark; early commutes
tent = Tents | tent, camping tent
  ask: pop up shelter, dome shelter, festival shelter, outdoor shelter
  use: festivals and weekends outdoors; windy nights
sleeping_bag = Sleeping Bags | sleeping bag, mummy sleeping bag
  ask: camp bed sack, outdoor quilt bag, mummy bag, camping quilt
  use: cold nights in a tent; sleepovers
camping_stove = Camping Stoves | camping stove, gas stove
  ask: backpacking burner, portable cooker, hiking burner, camp cooker
  use: hot meals on the trail; picnics
shampoo = Shampoos | shampoo (u), hair shampoo (u)
  ask: hair wash, hair cleanser, hair soap, scalp wash
  use: soft, shiny hair; daily washing
hair_dryer = Hair Dryers | hair dryer, blow dryer
  ask: hairdryer, blowdryer, hair blower, drying styler
  use: fast drying on busy mornings; smooth styling
face_cream = Face Creams | face cream, moisturizer
  ask: day cream, facial lotion, skin hydrator, anti aging cream
  use: day and night care; a fresh complexion
sunscreen = Sunscreens | sunscreen (u), sun cream (u)
  ask: sunblock, sun lotion, uv protection, suntan cream
  use: the beach and the mountains; daily protection
hand_soap = Hand Soaps | hand soap (u), liquid soap (u)
  ask: hand wash, handwash, soap dispenser refill, gel for washing hands
  use: kitchen and bathroom; gentle daily washing
electric_shaver = Electric Shavers | electric shaver, electric razor
  ask: beard shaver, foil shaver, mens groomer, shaving machine
  use: a close, quick shave; sensitive necks
shaver_head = Shaver Heads | replacement shaver head, shaving head
  ask: spare blades, replacement foil, razor heads, cutter unit
  use: restoring a close shave; yearly blade changes
dog_food = Dog Food | dog food (u), dry dog food (u)
  ask: kibble, doggy meal, canine diet, dog croquettes
  use: a shiny coat and strong joints; active companions
dog_leash = Dog Leashes | dog leash, dog lead
  ask: walking lead, puppy rope, training line, pet lead
  use: evening walks; dogs that pull
dog_bed = Dog Beds | dog bed, pet bed
  ask: puppy basket, dog cushion, canine mattress, dog sofa
  use: old joints and deep sleep; crates and corners
cat_food = Cat Food | cat food (u), dry cat food (u)
  ask: kitty kibble, feline diet, cat croquettes, kitty meal
  use: indoor and outdoor cats; picky eaters
cat_litter = Cat Litter | cat litter (u), clumping litter (u)
  ask: kitty litter, litter sand, cat box filler, cat sand
  use: homes with several cats; odor control
scratching_post = Cat Trees | scratching post, cat tree
  ask: cat tower, kitty climber, cat scratcher, claw post
  use: saving your couch from claws; climbing and napping
coffee_beans = Coffee Beans | coffee beans (p), whole bean coffee (u)
  ask: espresso beans, arabica, roast coffee, caffe beans
  use: bean-to-cup machines; pour-over and French press
coffee_capsules = Coffee Capsules | coffee capsules (p), coffee pods (p)
  ask: espresso caps, single serve cups, pods, capsule refills
  use: an espresso in seconds; trying a new roast every day
tea = Tea | tea bags (p), tea (u)
  ask: infusion, herbal drink, brew, tisane
  use: a quiet afternoon; a warm start to the day
olive_oil = Olive Oil | extra virgin olive oil (u), olive oil (u)
  ask: evoo, cold pressed oil, salad oil, cooking oil
  use: salads and slow cooking; dipping fresh bread
chocolate = Chocolate | chocolate bar, chocolate (u)
  ask: candy bar, cocoa sweets, choc tablet, sweet treat
  use: sweet cravings; baking and sharing
nuts = Nuts | nut snack, snack nuts (p)
  ask: nuts, healthy snack, trail mix, dried fruits and nuts
  use: snacking between meals; muesli and baking
building_blocks = Building Blocks | building blocks (p), building bricks (p)
  ask: construction toy, stacking bricks, snap together set, kids building set
  use: castles, cars and towers; rainy afternoons
soft_toy = Stuffed Animals | plush toy, stuffed animal
  ask: teddy, cuddly, plushie, soft toy
  use: cuddling at bedtime; birthdays and baby showers
puzzle = Jigsaw Puzzles | jigsaw puzzle, puzzle
  ask: jig saw, piecing game, adult brain teaser, picture pieces
  use: long winter evenings; family fun without screens
console = Game Consoles | game console, video game console
  ask: gaming system, gaming machine, tv gaming box, videogame system
  use: gaming nights with friends; playing on the big screen
game_controller = Game Controllers | game controller, gamepad
  ask: joystick, joypad, game pad, gaming remote
  use: long sessions; a second player
board_game = Board Games | board game, family game
  ask: tabletop, party game, game night box, parlor game
  use: family evenings; groups of friends
cordless_drill = Cordless Drills | cordless drill, drill driver
  ask: power drill, battery screwdriver, electric drill, impact driver
  use: shelves and furniture; every job around the house
screwdriver_set = Screwdriver Sets | screwdriver set, precision screwdriver set
  ask: bit set, hand tool kit, repair kit, phillips and torx kit
  use: electronics and glasses; repairs around the house
garden_hose = Garden Hoses | garden hose, water hose
  ask: watering pipe, yard hose, hosepipe, irrigation tube
  use: lawns and flower beds; washing the car
plant_pot = Plant Pots | plant pot, flower pot
  ask: planter, indoor planter, cachepot, succulent container
  use: balcony herbs; big leafy houseplants
vacuum_cleaner = Vacuum Cleaners | vacuum cleaner, stick vacuum
  ask: vac, cordless sweeper, dust sucker, carpet cleaner
  use: carpets and hard floors; homes with pets
vacuum_filter = Vacuum Filters | vacuum filter, replacement HEPA filter
  ask: vac spare part, hepa replacement, exhaust filter, dust filter refill
  use: clean exhaust air; restoring suction
mop = Mops | floor mop, flat mop
  ask: floor wiper, wet cleaner, floor washing stick, tile cleaner mop
  use: tiles, wood and laminate; quick clean-ups
notebook = Notebooks | notebook, journal
  ask: notepad, diary, writing pad, exercise book
  use: ideas and to-do lists; bullet journaling
printer_paper = Printer Paper | printer paper (u), copy paper (u)
  ask: printing sheets, office paper, photocopy paper, a ream
  use: everyday printing; two-sided documents
ballpoint_pen = Ballpoint Pens | ballpoint pen, gel pen
  ask: ball point, ball pen, writing pens, ink pen
  use: smooth writing; exams and signatures
marker = Markers | marker pen, permanent marker
  ask: highlighter, felt tip, felt pen, text liner
  use: labels, boxes and posters; color-coded notes
ring_binder = Ring Binders | ring binder, binder
  ask: folder, document file, lever arch file, paper organizer
  use: bills and contracts; school subjects
"""
