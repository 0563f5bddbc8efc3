"""What the shop sells: departments, middle categories, leaf categories, and the facts an item can have.

Owns: the tree, each leaf's fields with their values (the first value is the most common), the features
that an item of the leaf may have or lack, the leaves that complement it, the order of popularity. Ignores
words: every name here is a key that ``words_*`` and ``phrases_*`` translate.

A leaf takes two lines: ``leaf: field=value,value field=@set`` and ``has feature ...; with leaf ...``
(what it has; what goes with it). ``= department / middle`` opens a middle category.
"""

from __future__ import annotations

VALUE_SETS = {
    "tech": "black white gray blue silver",
    "bright": "black blue pink green red white purple",
    "wear": "black navy gray white blue red green pink beige brown",
    "house": "white gray beige blue green brown yellow pink",
    "wood": "oak pine bamboo",
    "sizes": "m l s xl xxl xs",
    "shoes": "42 40 38 41 39 43 37 44",
    "people": "women men kids",
    "kettles": "black white silver red",
    "leathers": "leather faux_leather canvas",
    "linens": "cotton linen microfiber",
    "prints": "plain striped floral",
    "pots": "white gray brown green",
}

QUANTITIES = """
battery storage power length diameter volume weight screen light voltage thickness pieces sheets persons
players seats ports tiers capsules bags shoe spf pack
"""
"""Fields whose values are numbers with a unit; all other fields hold words or devices."""

ORDERED = "battery storage power length diameter volume weight screen light"
"""Quantities that people bound from one side ("10000 mAh or more")."""

CONTENTS = """
silicone_oil sulfates fragrance alcohol hyaluronic_acid tint aloe_vera grain added_sugar caffeine salt
hazelnuts gluten activated_carbon
"""
"""Features that are inside a product rather than a part of it: they are contained, not attached."""

UNWANTED = "silicone_oil sulfates alcohol grain added_sugar gluten"
"""Contents that a title only mentions if they are absent."""

TREE = """
= electronics / phones
smartphone: model=@phone storage=128,256,64,512 color=@tech
  has dual_sim stylus fingerprint_reader; with phone_case screen_protector power_bank wall_charger
phone_case: fits=@phone color=@bright material=silicone,tpu,leather,faux_leather
  has card_slot kickstand magnet wrist_strap; with smartphone screen_protector
screen_protector: fits=@phone material=tempered_glass,tpu pack=2,1,3
  has privacy_filter mounting_frame camera_cover; with smartphone phone_case

= electronics / charging
power_bank: battery=10000,20000,5000,15000,25000 color=@tech
  has cable display flashlight; with smartphone charging_cable wall_charger
wall_charger: power=20,65,30,45,100 connector=usb_c,usb_a color=white,black
  has cable foldable_plug; with charging_cable smartphone power_bank tablet
charging_cable: connector=usb_c,micro_usb,usb_a length=100,200,50,300 material=nylon,silicone pack=1,2,3
  has angled_plug cable_tie; with wall_charger power_bank smartphone

= electronics / audio
earbuds: connection=wireless,wired color=@bright
  has noise_cancelling microphone charging_case ear_hooks; with smartphone tablet power_bank
headphones: connection=wireless,wired color=@tech material=leather,faux_leather,velvet
  has noise_cancelling microphone carrying_case; with laptop smartphone tablet
speaker: power=10,20,5,40,60 color=@bright shape=round,rectangular
  has microphone lights carrying_strap radio; with smartphone tablet

= electronics / wearables
smartwatch: model=@watch color=@tech
  has gps heart_rate_sensor speaker_phone; with watch_strap smartphone
watch_strap: fits=@watch material=silicone,leather,nylon,stainless_steel color=@bright
  has buckle magnet; with smartwatch

= electronics / photo
camera: model=@camera color=black,silver,white
  has flash touch_screen viewfinder; with tripod camera_bag memory_card
tripod: length=150,130,170,50 material=aluminum,carbon_fiber,plastic
  has remote_control phone_holder carrying_bag; with camera smartphone
camera_bag: color=black,gray,brown,green material=nylon,canvas,leather
  has rain_cover shoulder_strap; with camera memory_card tripod

= computing / computers
laptop: screen=15.6,14,13.3,17.3 storage=512,256,1000 color=silver,gray,black
  has touch_screen numeric_keypad backlight; with mouse laptop_sleeve usb_hub keyboard
tablet: screen=10.1,11,8,12.4 storage=64,128,256 color=@tech
  has stylus kickstand fingerprint_reader; with earbuds wall_charger headphones
laptop_sleeve: screen=14,15.6,13.3,16 color=black,gray,blue,pink material=neoprene,felt,faux_leather
  has handle shoulder_strap outer_pocket; with laptop mouse

= computing / peripherals
mouse: connection=wireless,wired color=@tech
  has side_buttons backlight wrist_rest; with laptop keyboard
keyboard: connection=wireless,wired color=black,white,gray,pink
  has backlight numeric_keypad wrist_rest; with mouse laptop tablet
usb_hub: connector=usb_c,usb_a ports=4,7,3,10 color=gray,black,silver
  has power_adapter ethernet_port card_reader; with laptop usb_stick external_drive

= computing / storage
usb_stick: storage=64,128,32,256 connector=usb_a,usb_c color=black,silver,blue,red pack=1,2,5
  has cap key_ring; with laptop usb_hub
memory_card: storage=64,128,256,32,512 pack=1,2
  has adapter storage_box; with camera tablet
external_drive: storage=1000,2000,500,4000 connector=usb_c,usb_a color=black,silver,blue
  has carrying_case password_lock; with laptop usb_hub console

= computing / printing
printer: model=@printer color=white,black
  has scanner wifi paper_tray; with ink_cartridge printer_paper
ink_cartridge: fits=@printer color=black,blue,red,yellow pack=1,2,4
  has chip; with printer printer_paper

= kitchen / cookware
frying_pan: diameter=28,24,20,30 material=aluminum,stainless_steel,cast_iron,ceramic
  has lid nonstick_coating removable_handle; with olive_oil cutting_board
saucepan: volume=1500,2000,3000,1000 material=stainless_steel,aluminum,cast_iron color=black,silver,red
  has lid nonstick_coating pouring_spout; with frying_pan kitchen_knife

= kitchen / drinkware
water_bottle: volume=750,500,1000,350 material=stainless_steel,plastic,glass,aluminum color=@bright
  has straw handle infuser; with backpack yoga_mat
travel_mug: volume=450,350,500,300 material=stainless_steel,ceramic,bamboo,plastic color=@bright
  has handle straw locking_lid; with coffee_beans coffee_machine tea
coffee_mug: volume=350,300,400,250 material=ceramic,glass,stoneware color=@house pack=1,2,4,6
  has lid spoon gift_box; with coffee_beans coffee_machine tea kettle

= kitchen / preparation
kitchen_knife: length=20,15,18,12 material=stainless_steel,carbon_steel,ceramic
  has blade_cover gift_box sharpener; with cutting_board
cutting_board: material=bamboo,oak,plastic length=40,30,35,50 pack=1,3,2
  has handle juice_groove hanging_loop; with kitchen_knife
food_container: volume=1000,500,750,2000 material=glass,plastic,stainless_steel pack=4,1,6,10
  has dividers steam_vent locking_lid; with kitchen_knife cutting_board

= kitchen / appliances
kettle: volume=1700,1500,1000 power=2200,2000,1500 material=stainless_steel,glass,plastic color=@kettles
  has temperature_display limescale_filter; with tea coffee_mug
coffee_machine: model=@coffee color=black,silver,red,white
  has milk_frother water_filter timer; with coffee_capsules coffee_mug
blender: volume=1500,1000,600,2000 power=1000,600,800,300 color=black,white,red,green
  has travel_cup timer pulse_function; with food_container water_bottle

= home / bedding
pillow: firmness=medium,soft,firm material=memory_foam,down,microfiber pack=1,2
  has removable_cover cooling_gel; with duvet_cover blanket
duvet_cover: bed=double,single,king color=@house pattern=plain,striped,floral,checked material=@linens
  has zipper buttons pillowcase; with pillow blanket
blanket: length=200,150,130,220 material=fleece,wool,cotton color=@house pattern=plain,checked,striped
  has sleeves fringes; with sofa pillow

= home / bathroom
bath_towel: material=cotton,bamboo,microfiber color=@house pack=2,1,4,6 length=140,100,150
  has hanging_loop fringes; with shower_curtain shampoo hand_soap
shower_curtain: length=180,200,240 material=polyester,plastic,linen pattern=@prints color=@house
  has rings hem_weights; with bath_towel

= home / lighting
desk_lamp: tone=warm,neutral,cool color=black,white,silver,green
  has dimmer usb_port clamp; with desk light_bulb
light_bulb: socket=e27,e14,gu10 tone=warm,neutral,cool light=800,470,1500,250 pack=1,4,2,6
  has dimmer remote_control; with desk_lamp
string_lights: length=1000,500,2000,300 tone=warm,cool,multicolor
  has remote_control timer solar_panel; with candle plant_pot

= home / decor
candle: scent=vanilla,lavender,rose,sandalwood,citrus weight=200,300,150,500 material=soy_wax,beeswax,paraffin
  has lid wooden_wick gift_box; with string_lights
cushion_cover: length=45,40,50 material=linen,cotton,velvet color=@house pattern=@prints pack=2,1,4
  has zipper fringes; with sofa pillow

= furniture / seating
office_chair: color=black,gray,white,blue material=mesh,faux_leather,leather
  has armrests headrest footrest lumbar_support; with desk
sofa: seats=3,2,4 material=velvet,linen,leather,faux_leather color=@house
  has bed_function storage_compartment footrest; with coffee_table cushion_cover blanket

= furniture / tables
desk: length=120,100,140,160 material=@wood color=white,brown,black
  has drawers cable_tray monitor_stand; with office_chair desk_lamp
coffee_table: shape=round,rectangular,square,oval material=oak,glass,marble,pine length=90,60,110
  has drawers casters lower_shelf; with sofa

= furniture / shelving
bookcase: length=180,120,80,200 material=@wood color=white,brown,black
  has doors drawers back_panel; with desk
shoe_rack: tiers=3,4,2,5 material=bamboo,steel,plastic color=brown,white,black
  has doors seat_cushion; with running_shoes sandals

= clothing / tops
t_shirt: audience=@people size=@sizes color=@wear material=cotton,polyester,linen pack=1,3,5
  has chest_pocket printed_design; with jeans hoodie cap
hoodie: audience=@people size=@sizes color=@wear material=cotton,fleece,polyester
  has zipper front_pockets; with leggings t_shirt
rain_jacket: audience=@people size=@sizes color=yellow,navy,black,red,green
  has hood front_pockets reflectors; with hiking_boots backpack

= clothing / bottoms
jeans: audience=@people size=@sizes color=blue,black,gray,white
  has stretch_fabric ripped_details; with belt t_shirt
leggings: audience=women,kids size=@sizes color=black,gray,navy,purple material=cotton,nylon,polyester
  has side_pockets high_waist; with yoga_mat running_shoes

= clothing / accessories
cap: audience=@people color=@wear material=cotton,wool,polyester
  has ear_flaps embroidery; with t_shirt
socks: audience=@people color=black,white,gray,navy material=cotton,wool,bamboo pack=5,3,1,10
  has cushioned_sole grips; with running_shoes hiking_boots
belt: audience=men,women,kids length=110,100,120,90 material=@leathers color=black,brown,navy
  has automatic_buckle gift_box; with jeans

= luggage / shoes
running_shoes: audience=@people shoe=@shoes color=@wear
  has reflectors cushioned_sole; with socks leggings
hiking_boots: audience=@people shoe=@shoes color=brown,gray,black,green material=leather,nylon
  has waterproof_membrane ankle_padding; with socks backpack rain_jacket
sandals: audience=@people shoe=@shoes color=brown,black,beige,white material=leather,rubber,cork
  has buckle heel; with handbag cap

= luggage / bags
backpack: volume=20000,30000,25000,40000 color=@wear material=nylon,polyester,canvas
  has rain_cover laptop_compartment chest_strap; with water_bottle laptop_sleeve hiking_boots
suitcase: volume=40000,65000,90000 color=black,silver,blue,red,pink material=polycarbonate,aluminum,polyester
  has combination_lock expansion_zipper cup_holder; with backpack
handbag: color=@wear material=leather,faux_leather,canvas,nylon
  has shoulder_strap zipper inner_pocket; with belt sandals

= sports / fitness
yoga_mat: thickness=6,10,8,4 material=rubber,cork,tpe color=purple,blue,green,black,pink
  has carrying_strap carrying_bag alignment_lines; with leggings resistance_band water_bottle
dumbbell: weight=5000,10000,2000,3000,8000 material=cast_iron,neoprene,rubber pack=2,1
  has storage_rack; with yoga_mat resistance_band
resistance_band: pack=5,3,1 material=latex,fabric color=black,green,pink,blue
  has handles door_anchor carrying_bag; with yoga_mat dumbbell

= sports / cycling
bike_helmet: audience=@people size=m,l,s color=@bright
  has visor rear_light chin_pad; with bike_light
bike_light: light=400,800,200,1000 pack=1,2
  has charging_port_cover brake_sensor mount; with bike_helmet

= sports / camping
tent: persons=2,3,4,6 color=green,blue,orange,beige
  has porch mosquito_net groundsheet; with sleeping_bag camping_stove
sleeping_bag: audience=men,women,kids material=down,polyester,cotton color=blue,green,black,orange
  has hood compression_bag inner_pocket; with tent
camping_stove: power=2300,1500,3000 material=stainless_steel,aluminum,titanium
  has carrying_case igniter windshield; with tent saucepan

= beauty / hair
shampoo: hair=normal_hair,dry_hair,oily_hair,colored_hair volume=400,250,1000,500
  has silicone_oil sulfates fragrance; with hair_dryer bath_towel
hair_dryer: power=2000,1800,2200,1600 color=black,white,pink,purple
  has diffuser foldable_handle cold_shot; with shampoo

= beauty / skin
face_cream: skin=dry_skin,oily_skin,sensitive_skin,mature_skin volume=50,30,75
  has fragrance alcohol hyaluronic_acid; with sunscreen
sunscreen: spf=50,30,20 volume=200,50,100 audience=women,kids,men
  has fragrance alcohol tint; with face_cream cap
hand_soap: scent=lavender,citrus,rose,coconut volume=300,500,250,1000 pack=1,3,6
  has pump aloe_vera; with bath_towel

= beauty / shaving
electric_shaver: model=@shaver color=black,silver,blue
  has trimmer charging_station travel_case; with shaver_head
shaver_head: fits=@shaver pack=1,2,3
  has cleaning_brush; with electric_shaver

= pets / dogs
dog_food: variety=chicken,beef,salmon,lamb stage=adult_dog,puppy,senior_dog weight=3000,12000,1000,7000
  has grain added_sugar; with dog_bed dog_leash
dog_leash: length=120,200,500,150 material=nylon,leather color=black,red,blue,brown,pink
  has reflectors padded_handle bag_dispenser; with dog_food dog_bed
dog_bed: shape=rectangular,round,oval length=80,60,100 color=gray,brown,beige,blue
  has removable_cover nonslip_base; with dog_food dog_leash

= pets / cats
cat_food: variety=chicken,salmon,tuna,beef stage=adult_cat,kitten,senior_cat weight=1500,400,4000,7500
  has grain added_sugar; with cat_litter scratching_post
cat_litter: material=clay,wood_fiber,silica weight=10000,5000,20000
  has fragrance activated_carbon; with cat_food
scratching_post: length=60,100,140,50 color=gray,beige,brown,white
  has platform hanging_toy sleeping_cave; with cat_food cat_litter

= grocery / drinks
coffee_beans: variety=dark_roast,medium_roast,light_roast weight=1000,500,250
  has caffeine resealable_bag; with coffee_machine coffee_mug travel_mug
coffee_capsules: fits=@coffee variety=dark_roast,medium_roast,light_roast capsules=50,10,100,30
  has caffeine; with coffee_machine coffee_mug
tea: variety=green_tea,black_tea,chamomile,mint,rooibos bags=20,50,100
  has caffeine added_sugar gift_box; with kettle coffee_mug

= grocery / pantry
olive_oil: volume=500,1000,750,250 pack=1,2,3,6
  has pouring_spout gift_box; with frying_pan
chocolate: variety=dark_chocolate,milk_chocolate,white_chocolate weight=100,200,300,500
  has added_sugar hazelnuts gluten; with coffee_beans tea
nuts: variety=almonds,cashews,walnuts,pistachios,mixed_nuts weight=500,1000,200
  has salt shell resealable_bag; with chocolate

= toys / play
building_blocks: pieces=100,500,250,50,1000 material=plastic,wood
  has storage_box base_plate figures; with soft_toy
soft_toy: variety=bear,rabbit,dog,cat,elephant,dinosaur length=30,40,20,60 color=brown,white,gray,pink,blue
  has sound_box gift_box; with building_blocks blanket
puzzle: pieces=1000,500,100,2000 variety=landscape,animals,city,world_map material=cardboard,wood
  has poster storage_bag; with board_game

= toys / games
console: model=@console storage=512,1000,256 color=white,black,blue
  has second_controller docking_station; with game_controller headphones external_drive
game_controller: fits=@console connection=wireless,wired color=@bright
  has vibration rear_buttons charging_station; with console
board_game: variety=strategy,cooperative,card_game,quiz players=4,2,6,8
  has hourglass dice; with puzzle

= tools / workshop
cordless_drill: voltage=18,12,20 color=blue,green,yellow,red
  has hammer_function spare_battery carrying_case; with screwdriver_set
screwdriver_set: pieces=32,12,45,100
  has magnetic_tips ratchet storage_box; with cordless_drill

= tools / garden
garden_hose: length=2000,1500,3000,5000 material=rubber,pvc color=green,yellow,black
  has spray_gun hose_reel; with plant_pot
plant_pot: diameter=20,14,30,40 material=ceramic,terracotta,plastic color=@pots shape=round,square pack=1,3,2
  has drainage_hole saucer; with garden_hose

= tools / cleaning
vacuum_cleaner: model=@vacuum color=black,red,white,gray
  has dust_bag pet_brush wall_mount; with vacuum_filter mop
vacuum_filter: fits=@vacuum pack=2,1,4
  has cleaning_brush; with vacuum_cleaner
mop: material=microfiber,cotton color=blue,gray,green,red
  has bucket spray_bottle; with vacuum_cleaner

= office / paper
notebook: paper=a5,a4,a6 ruling=lined,dotted_grid,squared,blank color=black,blue,red,green,pink pack=1,3,5
  has elastic_band pen_loop; with ballpoint_pen marker
printer_paper: paper=a4,a3,a5 sheets=500,2500,250,100
  has punched_holes; with printer ink_cartridge

= office / writing
ballpoint_pen: color=blue,black,red,green tip=medium_tip,fine_tip,broad_tip pack=10,4,1,50
  has rubber_grip cap; with notebook
marker: tip=broad_tip,fine_tip,medium_tip color=black,yellow,pink,green,blue pack=12,6,4,24
  has second_tip storage_box; with notebook

= office / filing
ring_binder: paper=a4,a5 color=black,blue,red,white,green pack=1,5,10
  has index_tabs label_pocket; with printer_paper
"""

USED_UP = """
coffee_beans coffee_capsules tea olive_oil chocolate nuts dog_food cat_food cat_litter shampoo face_cream
sunscreen hand_soap candle ink_cartridge printer_paper
"""
"""Leaves of goods that are eaten or used up; the others last."""

POPULAR = """
phone_case t_shirt earbuds charging_cable water_bottle running_shoes smartphone socks backpack laptop
power_bank light_bulb dog_food screen_protector coffee_mug jeans headphones shampoo bath_towel cat_food
notebook mouse pillow tea yoga_mat chocolate smartwatch hoodie ink_cartridge duvet_cover desk_lamp
frying_pan keyboard face_cream speaker soft_toy wall_charger food_container sunscreen tablet handbag
coffee_beans usb_stick memory_card office_chair building_blocks watch_strap leggings kitchen_knife
hand_soap cap ballpoint_pen blanket console coffee_capsules cutting_board string_lights game_controller
kettle vacuum_cleaner desk printer suitcase nuts board_game coffee_machine cordless_drill sandals
candle puzzle rain_jacket camera plant_pot hair_dryer dumbbell external_drive cushion_cover tent
hiking_boots marker travel_mug sofa cat_litter dog_bed blender laptop_sleeve olive_oil belt bookcase
printer_paper resistance_band usb_hub saucepan tripod garden_hose electric_shaver dog_leash bike_helmet
mop sleeping_bag shower_curtain coffee_table bike_light screwdriver_set ring_binder vacuum_filter
scratching_post shoe_rack camera_bag camping_stove shaver_head
"""
"""All leaves, the most popular first."""
