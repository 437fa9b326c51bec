import { animal, goodWith, type SampleAnimal } from './sample.ts'

/** The newest first, as lists show them. */
export const sampleAnimals: readonly SampleAnimal[] = [
  {
    ...animal('dog', 'Waffles', 'male', 4, 320, ['Poodle', 'Cocker Spaniel'], ['Cream']),
    look: { ears: 'curly', isFluffy: true, tint: '#e58f7b', collar: '#4f8fba' },
    facts: { size: 'small', coat: 'curly', minChildAge: 6, goodWith: goodWith('yes', 'yes', 'yes') },
    photos: ['sit meadow playful ball', 'basket garden happy', 'lie sofa sleepy', 'close room curious'],
    description:
      'Waffles is a puppy, and nothing is boring to him. He either runs or sleeps. He loves everyone he meets and carries his ball to each of them. He is learning to walk on a leash, and would like a family with time for puppy school.',
  },
  {
    ...animal('cat', 'Clementine', 'female', 38, 120, ['Domestic Shorthair'], ['Orange']),
    look: { pattern: 'tabby', eyes: '#b8c94f', tint: '#7fa6c9', collar: '#5d8fc0' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith('yes', 'selective', 'yes') },
    photos: ['lie window calm', 'sit garden happy', 'close studio curious'],
    description:
      'Clementine has chosen the window sill as her place in life. From there she comments on birds, parcels and the weather. In the evening she moves to the nearest lap and purrs until someone gets up.',
  },
  {
    ...animal('dog', 'Biscuit', 'male', 27, 280, ['Labrador Retriever'], ['Golden']),
    look: { ears: 'floppy', collar: '#d65f5f', tint: '#e0935f' },
    facts: { size: 'large', coat: 'short', goodWith: goodWith('yes', 'yes', 'yes') },
    photos: ['sit beach playful', 'close meadow happy', 'lie autumn calm bone'],
    description:
      'Biscuit is happy, and he wants you to be happy too. He swims in every pond, shares every toy and knows sit, stay and paw. A family that walks a lot, in any weather, would suit him best.',
  },
  {
    ...animal('rabbit', 'Clover', 'female', 16, 60, ['Holland Lop'], ['Fawn']),
    look: { ears: 'lop', tint: '#a98fc4' },
    facts: { size: 'small', coat: 'medium', goodWith: goodWith('selective', 'no', null) },
    photos: ['sit garden curious carrot', 'lie hay happy'],
    description:
      'Clover is small, and parsley makes her jump for joy. She hops up to people she knows and enjoys a scratch between the ears. She needs a calm rabbit friend and room to run.',
  },
  {
    ...animal('bird', 'Kiwi', 'male', 20, 35, ['Budgerigar'], ['Green', 'Yellow']),
    look: { cheek: '#6f8ed6', tint: '#e59a8f' },
    facts: { size: 'small', goodWith: goodWith('yes', null, 'no') },
    photos: ['stand branch calm'],
    description:
      'Kiwi sings along with the radio, the kettle and the vacuum cleaner. He sits on a finger and likes to ride on shoulders. He should live with other budgies, and fly free for some hours every day.',
  },
  {
    ...animal('cat', 'Mochi', 'male', 52, 110, ['Domestic Shorthair'], ['Black', 'White']),
    look: { pattern: 'bib', eyes: '#e8c24a', collar: '#d65f5f', tint: '#6fa79c' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith('yes', 'no', 'yes') },
    photos: ['sit sofa curious', 'lie room happy yarn', 'sit window calm friend'],
    description:
      'Mochi is polite: he greets every visitor at the door. He grew up with Olive, and they sleep in one basket. They are adopted together, and would like a person with a warm blanket.',
    bondedWith: 'Olive',
  },
  {
    ...animal('dog', 'Juno', 'female', 50, 240, ['Siberian Husky'], ['Gray', 'White']),
    look: { pattern: 'bib', ears: 'pointed', eyes: '#8ec5e6', collar: '#d65f5f', tint: '#7f9fc4' },
    facts: { size: 'large', coat: 'medium', minChildAge: 8, goodWith: goodWith('yes', 'selective', 'no') },
    photos: ['sit snow playful', 'close evening calm'],
    description:
      'Juno talks. She howls along with songs and tells you when dinner is late. She runs ten kilometers without getting tired, and is looking for people who do the same.',
    order: { status: 'approved', customer: 'Alex Sample', note: 'Visited twice. Picks Juno up on Saturday.' },
  },
  {
    ...animal('guineaPig', 'Peanut', 'male', 14, 30, ['American'], ['White', 'Tan', 'Black']),
    look: { pattern: 'patches', tint: '#d68f6a' },
    facts: { size: 'small', coat: 'short', goodWith: goodWith('yes', 'no', 'no') },
    photos: ['lie hay calm carrot', 'basket garden happy'],
    description:
      'Peanut whistles when the refrigerator opens. He is the brave one of the two: he tries each new vegetable first and then calls his brother Cashew. The two stay together.',
    bondedWith: 'Cashew',
  },
  {
    ...animal('dog', 'Otto', 'male', 134, 0, ['Dachshund'], ['Black', 'Tan']),
    look: { pattern: 'tan', ears: 'floppy', collar: '#5fa37c', tint: '#cf9a5b' },
    facts: { size: 'small', coat: 'short', goodWith: goodWith('yes', 'yes', 'selective') },
    photos: ['sit autumn calm', 'lie sofa sleepy', 'sit garden happy friend'],
    description:
      'Otto is eleven and a gentleman. He walks slowly, smells everything twice and then wants to be carried. He and Frieda have shared a bed for nine years, so they move together, best to a home on the ground floor.',
    specialNeedsNotes:
      'Otto has a weak back. He must not climb stairs, and gets a tablet with his breakfast.',
    bondedWith: 'Frieda',
  },
  {
    ...animal('cat', 'Suki', 'female', 31, 160, ['Siamese'], ['Cream', 'Chocolate']),
    look: { pattern: 'points', eyes: '#7db8e8', tint: '#c48fb0' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith('selective', 'no', 'selective') },
    photos: ['sit studio calm', 'lie window curious'],
    description:
      'Suki follows her person from room to room and asks questions. She opens drawers, finds what you have lost and wants to be praised for it. A home where someone is in most of the day would make her happy.',
    order: { status: 'placed', customer: 'Robin Sample', note: 'Works at home. Asks for a first visit.' },
  },
  {
    ...animal('tortoise', 'Hugo', 'male', 410, 90, ["Hermann's Tortoise"], ['Olive', 'Brown']),
    look: { tint: '#e0b15f' },
    facts: { size: 'small', goodWith: goodWith('yes', null, null) },
    photos: ['stand garden calm apple', 'close desert happy'],
    description:
      'Hugo is thirty-four and in no hurry. He spends the summer in the garden, eats dandelions and knows every path between them. He sleeps all winter in a cool box.',
  },
  {
    ...animal('horse', 'Maple', 'female', 118, 900, ['Welsh Pony'], ['Brown', 'White']),
    look: { mane: '#5a3a33', collar: '#4f8fba', tint: '#8fb38a' },
    facts: { size: 'large', coat: 'short', goodWith: goodWith('yes', 'yes', 'yes') },
    photos: ['stand pasture calm', 'close evening happy'],
    description:
      'Maple has taught many children to ride, and she was patient with each of them. She is retired from jumping and likes long walks, apples and being brushed. She needs a pasture with at least one other horse.',
    order: {
      status: 'approved',
      customer: 'Kim Sample',
      note: 'Has two ponies. The vet has seen the stable.',
    },
  },
  {
    ...animal('dog', 'Hazel', 'female', 19, 230, ['Beagle'], ['White', 'Brown', 'Black']),
    look: { pattern: 'patches', ears: 'floppy', collar: '#e0a03f', tint: '#86b27c' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith('yes', 'yes', 'selective') },
    photos: ['close garden playful', 'sit autumn happy'],
    description:
      'Hazel follows her nose, and it usually leads to breakfast. She is cheerful, good with other dogs and a champion at search games. She still has to learn that not every rabbit wants to play.',
    order: { status: 'cancelled', customer: 'Sasha Sample', note: 'The landlord does not allow a dog.' },
  },
  {
    ...animal('cat', 'Ash', 'male', 142, 0, ['Persian'], ['Gray']),
    look: { isFluffy: true, eyes: '#e8a33a', tint: '#c98f8f' },
    facts: { size: 'medium', coat: 'long', minChildAge: 10, goodWith: goodWith('selective', 'no', 'yes') },
    photos: ['lie sofa calm', 'close window happy'],
    description:
      'Ash is mostly fur. He is almost twelve, wants to be combed every evening and snores a little. He looks for a quiet home where dinner comes on time.',
    specialNeedsNotes:
      'Ash has diabetes. He gets insulin twice a day, and holds still for it. We show you how.',
  },
  {
    ...animal('bird', 'Mango', 'female', 44, 70, ['Cockatiel'], ['Gray', 'Yellow']),
    look: { crest: '#f5dc7c', cheek: '#ef8a54', tint: '#8fa8d0' },
    facts: { size: 'small', goodWith: goodWith('yes', 'selective', 'no') },
    photos: ['stand branch happy'],
    description:
      'Mango whistles half of a song and waits for you to whistle the rest. She is tame, likes showers and raises her crest when she is proud of herself. She would like to join other cockatiels.',
  },
  {
    ...animal('dog', 'Domino', 'male', 22, 180, ['Dalmatian'], ['White', 'Black']),
    look: { pattern: 'spots', ears: 'floppy', collar: '#d65f5f', tint: '#e3b04f' },
    facts: { size: 'large', coat: 'short', minChildAge: 6, goodWith: goodWith('yes', 'yes', null) },
    photos: ['sit studio playful ball', 'lie beach calm'],
    description:
      'Domino does not hear, and still notices everything. He knows twelve hand signs and watches your face all day. He needs a fenced garden and people who like to run.',
    specialNeedsNotes: 'Domino is deaf. He walks on a long leash where there is traffic.',
  },
  {
    ...animal('cat', 'Olive', 'female', 50, 110, ['Domestic Shorthair'], ['Black']),
    look: { eyes: '#a8c95a', collar: '#8f78c9', tint: '#9a86c4' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith('yes', 'no', 'yes') },
    photos: ['sit evening calm', 'basket studio happy friend'],
    description:
      'Olive is the quiet half of a pair. She watches first, decides slowly and then stays for good. She goes where Mochi goes.',
    bondedWith: 'Mochi',
  },
  {
    ...animal('gecko', 'Saffron', 'female', 30, 45, ['Leopard Gecko'], ['Yellow', 'Chocolate']),
    look: { tint: '#e0a07a' },
    facts: { size: 'small' },
    photos: ['stand desert curious'],
    description:
      'Saffron looks as if she smiles all day. She is calm, eats well and comes out in the evening to see who is there. Her terrarium moves with her.',
  },
  {
    ...animal('dog', 'Frieda', 'female', 121, 0, ['Dachshund'], ['Brown']),
    look: { ears: 'floppy', collar: '#c97fa5', tint: '#d09a72' },
    facts: { size: 'small', coat: 'short', goodWith: goodWith('yes', 'yes', 'selective') },
    photos: ['close meadow happy', 'basket autumn calm friend'],
    description:
      'Frieda decides when the walk is over. She is ten, healthy, and keeps Otto warm at night. She likes soft blankets, cheese and people who sit on the floor.',
    bondedWith: 'Otto',
  },
  {
    ...animal('guineaPig', 'Cashew', 'male', 14, 30, ['American'], ['Chocolate', 'Cream']),
    look: { pattern: 'bib', tint: '#86b2a4' },
    facts: { size: 'small', coat: 'short', goodWith: goodWith('yes', 'no', 'no') },
    photos: ['lie meadow calm', 'basket hay happy friend'],
    description:
      'Cashew is careful with everything that is new. With his brother Peanut beside him he becomes curious, and jumps for joy when the hay is fresh. The two stay together.',
    bondedWith: 'Peanut',
  },
  {
    ...animal('cat', 'Pixel', 'female', 5, 140, ['Domestic Shorthair'], ['White', 'Orange', 'Black']),
    look: { pattern: 'patches', eyes: '#8fbf5a', tint: '#7fb5c4' },
    facts: { size: 'small', coat: 'short', goodWith: goodWith('yes', 'yes', 'yes') },
    photos: ['basket window curious', 'sit garden playful', 'lie room sleepy yarn'],
    description:
      'Pixel was found in a flower pot and has been growing ever since. She climbs curtains, trouser legs and, if you sit still, you. She would love a second cat to play with.',
  },
  {
    ...animal('cat', 'Moss', 'male', 26, 100, ['Domestic Shorthair'], ['Silver']),
    look: { pattern: 'tabby', eyes: '#c9b84f', tint: '#8fa68a' },
    facts: { size: 'medium', coat: 'short', goodWith: goodWith(null, 'no', 'selective') },
    photos: ['lie hay sleepy'],
    description:
      'Moss came from a farm. He is shy, but every day he stays a moment longer when someone comes in.',
    staff: {
      listed: false,
      location: 'Quarantine, room 2',
      staffNotes: 'Ringworm, treated until the second negative test. Wear gloves. Do not list before that.',
    },
  },
  {
    ...animal('dog', 'Bruno', 'male', 64, 220, ['German Shepherd'], ['Tan', 'Black']),
    look: { pattern: 'points', ears: 'pointed', collar: '#4f8fba', tint: '#8fae7a' },
    facts: { size: 'xlarge', coat: 'medium', minChildAge: 10, goodWith: goodWith('yes', 'selective', 'no') },
    photos: ['sit pasture calm'],
    description:
      'Bruno is large and gentle. He guards the house, the garden and above all the sofa. He learns fast and wants a task every day.',
    order: { status: 'delivered', customer: 'Chris Sample', note: 'Moved in. The first week goes well.' },
  },
  {
    ...animal('rabbit', 'Nimbus', 'male', 22, 60, ['Angora'], ['White', 'Gray']),
    look: { pattern: 'patches', ears: 'upright', tint: '#8fa8d0' },
    facts: { size: 'medium', coat: 'long', goodWith: goodWith('yes', 'selective', 'selective') },
    photos: ['sit snow calm'],
    description:
      'Nimbus likes to be where people are, preferably on the rug. He is combed twice a week and pretends not to enjoy it.',
    order: { status: 'delivered', customer: 'Jamie Sample', note: 'Lives with two other rabbits now.' },
  },
]
