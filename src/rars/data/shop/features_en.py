"""English features: what an item has or lacks.

Owns: ``FEATURES`` (``key = noun | typed for having it | typed for lacking it``; where the English noun is
the key itself and nothing special is typed, the line is left out), the words around them in titles, and
sentences: in each pair of lines the first is for having, the second for lacking. ``PART`` is for what is
attached, ``CONTENT`` for what is inside. In a sentence ``{}`` is the noun, ``{Cap}`` begins with a capital.
"""

from __future__ import annotations

FEATURES = """
noise_cancelling = noise cancelling | anc, noise cancellation | passive
dual_sim = dual SIM | two sims | single sim
wifi = Wi-Fi | wifi, wireless network | no wifi
gps = GPS | gps tracking | no gps
usb_port = USB port | usb
bed_function = pull-out bed | sleeper, fold out | no bed
lights = LED lights | rgb lighting | no lights
timer = timer | auto shutoff | no timer
added_sugar = added sugar | sweetened | sugar free, unsweetened, no sugar
fragrance = fragrance | perfumed, scented | fragrance free, unscented
alcohol = alcohol | with alcohol | alcohol free
caffeine = caffeine | caffeinated | decaf, caffeine free
salt = salt | salted | unsalted, no salt
gluten = gluten | with gluten | gluten free
grain = grain | with grains | grain free
sulfates = sulfates | with sulfate | sulfate free
silicone_oil = silicones | with silicone | silicone free
shell = shell | in shell | shelled, peeled
activated_carbon = activated carbon | odor control, carbon | no carbon
aloe_vera = aloe vera | aloe | no aloe
tint = tint | tinted | untinted, clear
hazelnuts = hazelnuts | hazelnut | nut free
hyaluronic_acid = hyaluronic acid | hyaluronic
nonstick_coating = nonstick coating | non stick | uncoated
carrying_case = carrying case | case, hard case
backlight = backlight | light up, backlit | non backlit
numeric_keypad = numeric keypad | number pad, full size | tenkeyless, no numpad
zipper = zipper | zip up, zip | pullover style, no zip
hood = hood | hooded | hoodless
lid = lid | cover | no lid, open top
straw = straw | with a straw | no straw
handle = handle | carry handle | no handle, handleless
ripped_details = ripped details | ripped, distressed | not ripped
high_waist = high waist | high waisted, high rise | low rise
stretch_fabric = stretch fabric | stretchy | non stretch
printed_design = printed design | graphic, printed | no print, no logo
solar_panel = solar panel | solar powered, solar
remote_control = remote control | remote
waterproof_membrane = waterproof membrane | waterproof | not waterproof
armrests = armrests | arm rests | armless
heel = heel | high heel | flat, no heel
touch_screen = touch screen | touchscreen | no touchscreen
"""

PART = ("with {}", "without {}")
CONTENT = ("with {}", "without {}")

PART_SENTENCES = """
Comes with {}. / Includes {}. / Now with {}. / {Cap} included.
Comes without {}. / {Cap} not included. / No {}. / This version has no {}.
"""

CONTENT_SENTENCES = """
Contains {}. / With {}. / Made with {}.
Free from {}. / No {}. / Made without {}.
"""
