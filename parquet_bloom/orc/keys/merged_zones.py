"""Zones that the time zone database has merged with another one that agrees with them since 1970.

Before, they have a history of their own only where the database is built with its file `backzone`, as
Debian does; elsewhere, and in Java, that of the other zone.

Source: time zone database, files `backward` and `backzone`.
"""

from __future__ import annotations

from typing import Final

_OF: Final = {
    "Africa/Abidjan": (
        "Africa/Accra Africa/Bamako Africa/Banjul Africa/Conakry Africa/Dakar"
        " Africa/Freetown Africa/Lome Africa/Nouakchott Africa/Ouagadougou"
        " Atlantic/Reykjavik Atlantic/St_Helena"
    ),
    "Africa/Johannesburg": ("Africa/Maseru Africa/Mbabane"),
    "Africa/Lagos": (
        "Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Libreville"
        " Africa/Luanda Africa/Malabo Africa/Niamey Africa/Porto-Novo"
    ),
    "Africa/Maputo": (
        "Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Kigali"
        " Africa/Lubumbashi Africa/Lusaka"
    ),
    "Africa/Nairobi": (
        "Africa/Addis_Ababa Africa/Asmara Africa/Dar_es_Salaam Africa/Djibouti"
        " Africa/Kampala Africa/Mogadishu Indian/Antananarivo Indian/Comoro Indian/Mayotte"
    ),
    "America/Panama": ("America/Atikokan America/Cayman EST"),
    "America/Phoenix": ("America/Creston MST"),
    "America/Puerto_Rico": (
        "America/Anguilla America/Antigua America/Aruba America/Blanc-Sablon"
        " America/Curacao America/Dominica America/Grenada America/Guadeloupe"
        " America/Montserrat America/Port_of_Spain America/St_Kitts America/St_Lucia"
        " America/St_Thomas America/St_Vincent America/Tortola"
    ),
    "America/Toronto": ("America/Nassau"),
    "Asia/Bangkok": ("Asia/Phnom_Penh Asia/Vientiane Indian/Christmas"),
    "Asia/Dubai": ("Asia/Muscat Indian/Mahe Indian/Reunion"),
    "Asia/Kuching": ("Asia/Brunei"),
    "Asia/Qatar": ("Asia/Bahrain"),
    "Asia/Riyadh": ("Antarctica/Syowa Asia/Aden Asia/Kuwait"),
    "Asia/Singapore": ("Asia/Kuala_Lumpur"),
    "Asia/Yangon": ("Indian/Cocos"),
    "Europe/Athens": ("EET"),
    "Europe/Belgrade": ("Europe/Ljubljana Europe/Sarajevo Europe/Skopje Europe/Zagreb"),
    "Europe/Berlin": ("Europe/Copenhagen Europe/Oslo Europe/Stockholm"),
    "Europe/Brussels": ("CET Europe/Amsterdam Europe/Luxembourg MET"),
    "Europe/Lisbon": ("WET"),
    "Europe/London": ("Europe/Guernsey Europe/Isle_of_Man Europe/Jersey"),
    "Europe/Paris": ("Europe/Monaco"),
    "Europe/Zurich": ("Europe/Vaduz"),
    "Indian/Maldives": ("Indian/Kerguelen"),
    "Pacific/Auckland": ("Antarctica/McMurdo"),
    "Pacific/Guadalcanal": ("Pacific/Pohnpei"),
    "Pacific/Guam": ("Pacific/Saipan"),
    "Pacific/Honolulu": ("HST"),
    "Pacific/Pago_Pago": ("Pacific/Midway"),
    "Pacific/Port_Moresby": ("Antarctica/DumontDUrville Pacific/Chuuk"),
    "Pacific/Tarawa": ("Pacific/Funafuti Pacific/Majuro Pacific/Wake Pacific/Wallis"),
}

# The zone that each is merged with.
MERGED: Final = {name: zone for zone, names in _OF.items() for name in names.split()}
