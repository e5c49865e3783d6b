"""What names of columns mean: tables of words, in several languages, in the codings of censuses and surveys, in parts.

Nothing here decides; :mod:`synthdp.table.guess.names` reads it.
"""

from collections.abc import Mapping


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _by_word(table: Mapping[str, str]) -> dict[str, str]:
    return {word: topic for topic, known in table.items() for word in known.split()}


# in the order in which they identify people; one word suffices, compared without case and accents
KEYS: Mapping[str, frozenset[str]] = {
    topic: _set(known)
    for topic, known in {
        "birth": "birth born dob yob birthdate birthyear birthday byear bdate geburt geburtsjahr geburtsdatum "
        "gebdatum gebjahr naissance nacimiento nascimento nascita geboorte geboortejaar urodzenia fodelsear",
        "age": "age ages agep alter lebensalter altersgruppe agegr agegroup edad idade eta leeftijd leeftijdsklasse "
        "wiek alder aldur ika vek agey ageyrs yrsold",
        "sex": "sex gender geschlecht sexe sexo sesso genre genero geslacht plec kon kjonn female male woman femme "
        "homme mujer hombre vrouw frau kobieta gndr gendr boy girl man",
        "origin": "race ethnicity ethnic ethnie ethnicite raza raca etnia etnicidad white black hispanic nationality "
        "nationalitat nationalite nacionalidad citizenship citizen staatsangehorigkeit country land pays pais paese "
        "herkunft religion narodowosc native immigrant hisp hispan raced ancestry nativity birthplace bpl pobp migrant "
        "migration migrationshintergrund nationaliteit etniciteit origine origen herkomst obywatelstwo wyznanie "
        "pochodzenie godsdienst konfession nonwhite blck blk asian foreign foreigner relig catholic protestant "
        "muslim jewish minority minorities minderheit minorite minoria caste tribe denomination creed mothertongue "
        "muttersprache afam africanamerican indigenous indigena aborigine usborn foreignborn nativeborn latino latina "
        "hindu buddhist orthodox christian lutheran baptist language",
        "place": "region place placesize county state province city town municipality zip zipcode postcode postal plz "
        "district popul population urban rural urbanicity gemeinde kreis bundesland stadt ort wohnort departement "
        "commune ville canton kanton ciudad provincia municipio comune regione wojewodztwo miasto gmina residence "
        "lan kommun fylke puma statefip countyfip fips metro metarea cbsa msa nuts lsoa msoa tract gemeente "
        "provincie woonplaats stad powiat departamento domicile south north west east northeast northwest southeast "
        "southwest midwest smsa reg village locality nrtheast nrthcen northcen location zone site center centre clinic "
        "borough parish prefecture settlement neighborhood precinct barrio suburb suburban urbanism statename stateabb "
        "neighbourhood latitude longitude standort lieu ubicacion",
        "education": "edu educ educd education school schooling schl highschool college degree bildung schulabschluss "
        "abschluss bildungsabschluss schulbildung diplome etudes estudios educacion escolaridade "
        "istruzione opleiding onderwijs wyksztalcenie utbildning hsgrad colgrad edlevel edyears edyrs schooled yearsed "
        "yrsed qualification qualifications dropout diploma bachelor masters phd graduate",
        "marital": "marital maritalstatus mstatus marstat marst msp married spouse divorced widowed familienstand "
        "zivilstand verheiratet matrimonial matrimoniale civil etatcivil estadocivil casado burgerlijke gehuwd "
        "burgerlijkestaat cywilny zonaty zamezna civilstand marr widow divorce single separated cohab cohabiting "
        "cohabitation nevermarried partnered remarried",
        "occupation": "occupation occ occup occp indp job profession beruf berufsgruppe metier ocupacion profesion "
        "beroep zawod socprof workclass classwkr industry branche secteur isco isic naics nace bedrijfstak branza "
        "stanowisko yrke indust occupational sic employer manuf construc bluecol bluecollar whitecollar",
        "household": "household hhsize hht hhtype famsize familysize npf nchild children kids kinder enfants hijos "
        "figli kinderen dzieci haushaltsgrosse haushalt haushaltstyp menage hogar huishouden gospodarstwo relate relp "
        "relationship kid child babies preteen preteens teens nkids numkids siblings sibs sibling hsize famsz hhnum "
        "dependents dependants depends relat adults hhmembers members numchild nadults numdep fsize famsiz sibl nsibs "
        "brothers sisters birthorder birthord brthord firstborn parents roommates",
        "housing": "housing tenure ownershp dwelling homeowner wohnung wohnform logement vivienda woning mieszkanie",
        "income": "income incomes earnings salary wage wages inctot incwage pincp hincp wagp povpip einkommen gehalt "
        "lohn revenu revenus salaire ingreso ingresos sueldo salario renda reddito inkomen loon salaris dochod zarobki "
        "wynagrodzenie inkomst earns earn earning inc faminc hhinc hinc lwage hrwage poverty",
        "disability": "disability disabled deye dear dphy drem dout ddrs blind deaf wheelchair behinderung behindert "
        "invalidite handicap discapacidad beperking niepelnosprawnosc",
        "veteran": "veteran dvet vetstat military milit veteraan kombattant excombatiente weteran",
    }.items()
}
# whole names in the codings of censuses and surveys, too short or too odd to be looked for among words
CODED: Mapping[str, str] = _by_word(
    {
        "birth": "rb080 pb140 v010 v011 yrborn yrbrn doby",
        "age": "rx010 rx020 agec ridageyr v012 v013 agea prtage peage agegrp",
        "sex": "rb090 pb150 riagendr gndr pesex srsex",
        "origin": "rac1p rac2p rac3p anc1p anc2p cit nativ pob lanp pb220a pb210 ridreth1 ridreth3 ptdtrace "
        "prdthsp pehspnon lang prot brncntr ctzcntr rlgdnm srrace citizen dmdborn4 dmdcitzn",
        "place": "st density db040 db100 pwpuma powpuma v024 v025 gestfips gereg gediv domicil cntry ne nc statefp "
        "xnorcsiz srcbelt reg16 res16 areacode",
        "education": "paeduc maeduc speduc padeg madeg spdeg pe040 isced eisced eduyrs dmdeduc2 "
        "dmdeduc3 peeduca schl ed",
        "marital": "mar pb190 dmdmartl maritalb pemaritl evermarr evermarried",
        "occupation": "cow pl051 pl111 soc socp occ1990 ind1990 naicsp pl030 pl031 pl040 isco08 isco88 nacer2 "
        "selfemp selfempl selfempld selfemployed selfemployment emptitle prmjocc1 prmjind1 ind ind1 "
        "occ1 occ10 occ80 indus10 indus80 prestg80 prestg10",
        "household": "noc np hhl hupac nchlt5 relshipp hx040 hhmmb ceb dmdhhsiz dmdfmsiz hrnumhou "
        "hompop childs rfamsze earnrs agewed famcomp",
        "housing": "ownrent rentown ten bld hh021 hh020",
        "income": "hx090 hinctnta indfmpir indhhin2 indfmin2 hefaminc hhninc hhincome py010n py010g hy020 hy010 "
        "eqincome rincom16 rincom06 income16 realinc realrinc coninc conrinc lnw lw logw lnwg lnwage loginc lninc linc",
        "disability": "dis ph030 hlthhmp",
        "veteran": "mil vps drat dmqmiliz pemilit",
    }
)
CODE_WORDS = _set("code codes cd cod recode rec")  # beside a coding of the table above
# pieces of names written together (husage, motheduc, urbmarr); each of a name must be known, see names.pieces
STEMS: Mapping[str, str] = _by_word(
    {
        "birth": "born brth birth dob yob",
        "age": "age ages",
        "sex": "sex male female fem gender gendr gndr",
        "origin": "race ethnic hisp hispan hispanic black blck blk white wht wh asian nonwhite relig cath catholic "
        "immig citizen nativ",
        "place": "region county cnty city urb urban rural metro smsa state town",
        "education": "educ education edu school schl schooling degree college grad diploma",
        "marital": "marr married marit marital marst divorc widow wed mar",
        "occupation": "occ occup indust industry",
        "household": "kid kids child children chld chldrn sibs siblings",
        "income": "inc income incom earn earns earning earnings wage wages salary",
    }
)
# what may stand beside them without changing who they tell about
BESIDE = _set(
    "hus husb husband wife wif sp spouse spous partner moth mother mom mum fath father dad par parent parents head "
    "ref resp hh fam family house household l ln log real nom num no nr nbr tot total yr yrs year "
    "years mo mnth month months day date wk week weekly hr hrs hrly hourly annual ann ever first fst frst last cur "
    "curr current pre post cat categ grp group gr level lev lvl code cd status stat type lt le ge gt under over big "
    "small sml smll sm med medium lg large vlg cent central outer sub other oth any has is in at of non hs high yng "
    "young old oldest youngest bin dum dummy flag raw rec recode sq squared diff ch change lag dec "
    "decile quart quartile "
    "quint quintile perc pct ntile band bracket brk class range fthr mthr grand step own self respondent nev never coll"
)
# whose something is, and what is then short enough to mean other things by itself (momed, husemp)
RELATIVES = _set(
    "college mom mum moth mother mthr dad fath father fthr hus husb husband wife wif sp spouse par parent fam"
)
OF_RELATIVES: Mapping[str, str] = _by_word(
    {
        "education": "ed edu educ hgc coll hs",
        "occupation": "emp empl employed job",
        "income": "i inc y",
        "household": "size sz siz",
        "birth": "yob born",
    }
)
LETTERS_AFTER = _set("age sex")  # besides stems of four letters: a single letter may follow (agec, educb)
# words that look like pieces and are none
WHOLE = _set(
    "page stage usage postage package average percentage coverage message language mileage dosage damage storage sage "
    "grace trace brace skid owed showed estates eager pager lager grade grades wager employ "
    "learn learning yearn rage cage fed page overage pincer mind wind find zinc estate income outage manage lineage"
)
# a label with one of these does not speak of what a stranger would know
VETOES = _set(
    "ideal desired expected expect prefer preferred want wanted wish intend plan planned opinion attitude attitudes "
    "satisfied satisfaction feel feeling feelings cope think believe belief know knows knowledge control "
    "contraceptive medication drug drugs drink drinks smoke smoked smoking cigarettes alcohol test score scores "
    "exam gpa rate rates average avg mean median tax taxed taxes price prices cost costs percent percentage share "
    "index quality restrictions items scale impact injury disease diagnosis dx hospital benefit benefits difference "
    "change growth do does did how what which why would should could have you your their whether trust support "
    "oppose favor important"
)
# a name with one of these is an opinion about it, a score or a price
NAME_VETOES = _set(
    "satisfaction satisfied satisf attitude attitudes opinion ideal desired expected preferred trust involvement score "
    "scores test cost costs price prices quality zufriedenheit gpa hike raise "
    "pct percent percentage prop proportion ratio avg mean median chg change changed verified verification"
)
# in labels these mean too many other things
VAGUE = _set(
    "job land place state class school native white male female code party civil ten st ort reg kid child land lan soc "
    "sic inc place population housing north south east west degree earn divorce military country work"
)
PLACES = _set(
    "alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois "
    "indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri "
    "montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin "
    "wyoming"
)
IDENTIFIERS = _set(
    "id ids uid uuid guid pid name surname firstname lastname fullname forename email mail phone telephone tel mobile "
    "cell fax ssn sin nin nhs passport pesel nif nie curp cpf bsn personnummer iban account address street login user "
    "username vorname nachname telefon handy adresse strasse anschrift kennung nom prenom telephone courriel nombre "
    "apellido apellidos correo telefono direccion cognome indirizzo imie nazwisko mrn record recordid patientid "
    "caseid respid respondentid subjectid studyid idnr ip"
)
# names of people are dropped however often they recur; also two words: first name
PERSON_NAMES = _set(
    "surname firstname lastname fullname forename middlename maidenname givenname familyname vorname nachname prenom "
    "apellido apellidos cognome imie nazwisko email ssn passport pesel"
)
# a number of these is somebody's, however often it recurs
PERSON_NUMBERS = _set("id ids uid pid caseid respid respondentid subjectid studyid recordid patientid personid idnr")
# what is measured at a birth tells less of somebody than when it was
AT_BIRTH = _set("weight wt wgt wght gm oz lbs grams control defect defects length outcome")
# hours of television on a school day are not about the school
SPENT = frozenset({"education", "place", "occupation", "household"})
SPANS = _set("hours hrs minutes mins per night nights days")
# what is spent on it; of a job it is rather the experience (work_exp)
PAID_FOR = frozenset({"education", "household", "housing"})
PAID = _set("exp exps expend expense expenses expenditure expenditures spending spent")
WHOSE_NAME = _set("first last given family middle maiden full patient person respondent student")
IDENTIFIER_ENDINGS = ("nummer", "number", "name", "mail", "phone", "telefon", "adresse", "address")
# how long something has lasted has an order, whatever it is (yrsmarr)
DURATIONS = _set("yrs yr years year mo months month wks weeks days hrs hours")
# codes of these have no order, whatever the numbers suggest
UNORDERED = frozenset({"sex", "origin", "place", "marital", "occupation", "housing"})
# said last, these are what the name is about: account_length is a length
MEASURES = _set(
    "length size count type status date time rate rating age year years score amount total balance plan service use "
    "usage level category class group change source kind mode method frequency"
)
COORDINATES = _set("latitude longitude lat lon lng long")
LATITUDES, LONGITUDES = _set("lat latitude"), _set("long lon lng longitude")
# how many live in a place has an order, though it is a key as the place is
SIZES = _set("population popul placesize inhabitants einwohner latitude longitude")
UNORDERED_WORDS = _set(
    "relationship relat religion party type class group code category industry sector denomination language method "
    "wrkstat workstat empstat emplstat employment activity "
    "mode brand reason cause major field department species diagnosis drg icd dx procedure employer bank hospital "
    "site center centre clinic nation nationality birthplace plan scheme arm"
)
# numbers of these have an order, whatever stands beside (JobLevel)
ORDERED = _set("level rank rating prestige score stufe niveau nivel prestg")
AMOUNTS = _set("size count amount total enrollment enrolment balance limit sum days hours minutes")
UNORDERED_ENDINGS = ("type", "code", "relat", "class")
# a label with one of these says that numbers are codes
CODE_LABELS = _set("code codes digit type category classification industry occupation nationality relationship")
MONTHS = _set("month mnth mnt mth monat mois mes mese maand miesiac")
MONTH_STARTS = ("month", "mnth")
# columns of a survey's design: a sure name alone is enough, another needs values that behave so
WEIGHTS = _set(
    "pweight pweights fweight aweight iweight finalwgt fnlwgt finalwt pwgtp wgtp perwt hhwt wtmec wtmecyr wtint "
    "wtintyr wtfinl wtsupp asecwt earnwt dweight pspwght anweight rb050 db090 pb040 rb060 rb064 wtssall wtssnr "
    "sampwt samplewt sampweight samplingweight surveyweight svywt svywgt designweight finalweight personweight "
    "perwgt hhweight hweight pwt pwgt v005 hv005 weights wts gewicht hochrechnungsfaktor poids ponderation "
    "ponderacion factorexp expfactor fexp wgtfin wtper pesowgt leadwt"
)
PERSON_WEIGHTS = _set(
    "anweight pspwght rb050 pwgtp perwt pb040 pwt pwgt perwgt personweight wtper pweight finalwgt fnlwgt"
)
SAMPLING = _set("sample sampling survey design final person household expansion probability post poststratification")
MAYBE_WEIGHTS = _set("w wt wgt weight wght peso wtt factor")
BODY = _set(
    "kg kgs kilogram kilograms kilo kilos lb lbs pound pounds gram grams ounce ounces body birth baby infant loss gain "
    "height mass bmi"
)
HEIGHTS = _set("height ht hgt htcm heightcm bmi stature groesse taille")
STRATA = _set(
    "strata stratum strat sdmvstra vstrat varstrat varstr stratid stratumid strataid v022 v023 hv022 hv023 stra "
    "estrato schicht strate sstrat psstrat designstrata stratvar"
)
CLUSTERS = _set(
    "psu cluster clust clusterid clusters psuid sdmvpsu vpsu varpsu varunit v021 v001 hv021 hv001 ppsu ea psunum "
    "clustid clusternum ultcluster upm conglomerado grappe klumpen secu"
)
HOUSEHOLDS = _set(
    "hhid hid hh hhnum hhno householdid household_id hhold householdnumber hhserial serial serialno famid familyid fid "
    "fam family db030 hb030 rx030 px030 hx030 pairid twinpair coupleid dyad motherid momid idhh hhidpn folio"
)
# where people are together: with a number, these are clusters
INSTITUTIONS = _set(
    "school class classroom teacher hospital clinic doctor physician firm company enterprise employer plant village "
    "site center centre ward sch schl hosp dept course team store branch "
    "professor prof interviewer practice provider litter schule klasse betrieb ecole escuela scuola"
)
NUMBERS = _set("nr no num number id code idnr nummer numero")
PERSONS = _set(
    "id pid personid person nr idcode caseid case respid resp subject subj subjectid patient patientid indiv "
    "individual idno idnum ind iid pupil student worker unit uid identifier panelid mergeid xwaveid persnr pidp nid "
    "casenum"
)
YEARS = _set("year yr yrs years jahr annee ano anno jaar rok yearsurvey survey_year syear appyear")
TIMES = _set(
    "year yr wave t time period round visit month quarter date welle jahr occasion week day syear survey_year "
    "yearsurvey age grade semester term session spell"
)
# what somebody would explain, the likeliest first
OUTCOMES = (
    _set("y outcome response score scores result income earnings wage wages salary inc earns lwage"),
    _set(
        "gpa test exam final grade bwght birthweight birthwt sbp bmi hours visits cost costs expenditure health happy"
    ),
    _set("duration durat time survival weeks months days satisfaction rating vote approve employed inlf work union"),
)
# what a name says of how its column was computed
COMPUTED = _set(
    "cen cent ctr centered centred c std stdz standardized standardised z zscore log ln sq sqr squared dev diff lag "
    "resid demeaned adj index total sum tot mean avg scaled"
)
