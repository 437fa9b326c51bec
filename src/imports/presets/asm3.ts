import type { Preset } from '../preset.ts'

/** ASM3 (Animal Shelter Manager): "Export Animals as CSV". */
export const asm3: Preset = {
  name: 'asm3',
  title: 'ASM3',
  recognizedBy: [['ANIMALCODE', 'ANIMALNAME']],
  // Photos, vaccinations and more are extra lines with the code and the name of the animal.
  hasSeveralLines: true,
  blanks: ['None'],
  columns: {
    ANIMALCODE: 'externalId',
    ANIMALNAME: 'name',
    ANIMALSPECIES: 'species',
    ANIMALSEX: 'sex',
    ANIMALBREED1: 'breeds',
    ANIMALBREED2: 'breeds',
    ANIMALCOLOR: 'colors',
    ANIMALDOB: 'birthDate',
    ANIMALAGE: 'age',
    ANIMALDESCRIPTION: 'description',
    ANIMALCOMMENTS: 'description',
    ANIMALNEUTERED: 'altered',
    ANIMALDECLAWED: 'declawed',
    ANIMALHASSPECIALNEEDS: 'specialNeeds',
    ANIMALHOUSETRAINED: 'houseTrained',
    ANIMALGOODWITHCATS: 'goodWith.cats',
    ANIMALGOODWITHDOGS: 'goodWith.dogs',
    ANIMALGOODWITHKIDS: 'goodWith.children',
    ANIMALENTRYDATE: 'arrivedOn',
    ANIMALMICROCHIP: 'microchip',
    ANIMALLOCATION: 'location',
    ANIMALWEIGHT: { field: 'attributes.Weight', blanks: ['0', '0.0', '0.00'] },
    ANIMALLITTER: 'attributes.Litter',
    ANIMALIMAGE: 'photos',
    ANIMALNOTFORADOPTION: { field: 'listed', isInverse: true },
    // Owned by a member of the public.
    ANIMALNONSHELTER: { field: 'listed', isInverse: true },
    ANIMALDECEASEDDATE: { otherwise: { listed: 'no' } },
    ANIMALFLAGS: {
      isList: true,
      values: {
        courtesy: { courtesy: 'yes' },
        notforadoption: { listed: 'no' },
        nonshelter: { listed: 'no' },
        quarantine: { listed: 'no' },
      },
    },
    VACCINATIONGIVENDATE: { otherwise: { vaccinated: 'yes' } },
    MOVEMENTTYPE: {
      // Without a date, there is no movement.
      onlyIf: 'MOVEMENTDATE',
      values: {
        0: { status: 'pending' },
        reservation: { status: 'pending' },
        1: { status: 'sold' },
        adoption: { status: 'sold' },
        2: { status: 'available' },
        foster: { status: 'available' },
        8: { status: 'available' },
        retailer: { status: 'available' },
      },
      // Transferred, escaped, reclaimed, stolen, released.
      otherwise: { listed: 'no' },
      // It is in the shelter, also after it was returned.
      blank: { status: 'available' },
    },
    MOVEMENTDATE: 'adoptedOn',
  },
  excluded: [
    'PERSON*',
    'ORIGINALOWNER*',
    'CURRENTVET*',
    '*HIDDENDETAILS',
    '*WARNING',
    'ANIMALPICKUP*',
    'DIARY*',
    'DONATION*',
    'INCIDENT*',
    'LICENSE*',
    'LOG*',
  ],
}
