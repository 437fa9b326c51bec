import type { ImportField } from './fields.ts'

/**
 * The usual headings of each field, ignoring case, spaces and punctuation. The first one that a file has is used, so each
 * entry stands for one column at most. The guide "Move in" has the same table, which a test checks.
 */
export const usualHeadings: readonly (readonly [field: ImportField, headings: string])[] = [
  ['name', 'name, animal name, pet name, pet, animal'],
  ['categoryId', 'category id'],
  ['category', 'category'],
  ['species', 'species, kind, animal type, pet type, type of animal, animal kind, type'],
  ['status', 'status, adoption status, availability'],
  [
    'externalId',
    'external id, animal id, animal number, animal no, animal code, intake number, intake no, shelter id, shelter number, shelter no, shelter code, pet id, reference, ref, number, no, code, id number',
  ],
  ['adoptedOn', 'adopted on, adoption date, date adopted, date of adoption'],
  ['breeds', 'primary breed, main breed, breed 1, breed, breeds'],
  ['breeds', 'secondary breed, second breed, other breed, breed 2'],
  ['mixed', 'mixed, mixed breed, mix, crossbreed'],
  ['sex', 'sex, gender, m/f, male/female'],
  ['birthDate', 'birth date, date of birth, dob, birthday, born, born on'],
  ['birthDateEstimated', 'birth date estimated, dob estimated'],
  ['age', 'age, current age, approximate age, approx age, estimated age, age (y/m/d)'],
  ['ageGroup', 'age group, general age, life stage'],
  ['size', 'size, animal size, general size, size group'],
  ['coat', 'coat, coat length, coat type, hair, hair length, fur, fur length'],
  [
    'colors',
    'primary color, primary colour, main color, main colour, color 1, colour 1, color, colour, colors, colours',
  ],
  [
    'colors',
    'secondary color, secondary colour, second color, second colour, other color, other colour, color 2, colour 2',
  ],
  ['colors', 'tertiary color, tertiary colour, third color, third colour, color 3, colour 3'],
  [
    'altered',
    'altered, spayed/neutered, neutered/spayed, spay/neuter, spayed or neutered, neutered, spayed, fixed, desexed, sterilized, sterilised, castrated, s/n',
  ],
  ['houseTrained', 'house trained, house broken, potty trained, litter trained'],
  ['declawed', 'declawed'],
  [
    'vaccinated',
    'vaccinated, vaccinations, vaccines, vaccinations up to date, vaccinations current, shots, shots up to date, shots current, up to date',
  ],
  ['specialNeeds', 'special needs, has special needs'],
  ['specialNeedsNotes', 'special needs notes, special needs description'],
  ['courtesy', 'courtesy, courtesy listing, courtesy post'],
  [
    'goodWith.children',
    'good with children, good with kids, ok with children, ok with kids, children ok, kids ok, child friendly, kid friendly, children, kids',
  ],
  ['goodWith.dogs', 'good with dogs, ok with dogs, dogs ok, dog friendly, dogs'],
  ['goodWith.cats', 'good with cats, ok with cats, cats ok, cat friendly, cats'],
  ['minChildAge', 'minimum child age, min child age, minimum age of children, children from age'],
  ['fee', 'adoption fee, fee, price, adoption price, cost'],
  ['description', 'description, bio, biography, about, story, web description, profile'],
  ['staffNotes', 'staff notes, internal notes, private notes, notes, comments, remarks, memo'],
  ['microchip', 'microchip, microchip number, microchip no, microchip id, chip number, chip'],
  ['location', 'location, current location, kennel, cage, pen, enclosure, room'],
  [
    'arrivedOn',
    'arrived on, arrival date, date arrived, arrived, intake date, date of intake, date in, entry date, admission date, admitted',
  ],
  ['listed', 'listed, published, publish, on website, show on website'],
  ['contactUrl', 'contact url, contact link, application url, application link'],
  ['videoUrl', 'video url, video, video link, youtube'],
  ['attributes', 'weight, current weight'],
  [
    'photos',
    'photo 1, picture 1, image 1, photo, picture, image, photos, pictures, images, photo url, picture url, image url',
  ],
  ...Array.from({ length: 19 }, (_, at) => at + 2).map(
    (at) => ['photos', `photo ${at}, picture ${at}, image ${at}`] as const,
  ),
]
