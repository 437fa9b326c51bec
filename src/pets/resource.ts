import { countChanges, identityCounter, type Resource } from '../records/resource.ts'
import { PetConflicts } from './conflicts.ts'
import { applyPets, findPetChanges, type PetOrders, petIdentities, petsPerStatement } from './importPets.ts'
import { type PetRecord, parsePetFast, petRecordSchema } from './record.ts'

export const petResource = (orders: PetOrders): Resource<PetRecord, 'pets'> => ({
  type: 'pet',
  countName: 'pets',
  nouns: ['animal', 'animals'],
  table: 'pets',
  idColumn: 'id',
  counter: identityCounter('lastPetId', 'pets'),
  // A change of the profile or the photos changes fields of the pet.
  events: { 'pet.': 'id', 'profile.': 'petId', 'photo.': 'petId' },
  positions: [30],
  toRecords: (rows) =>
    rows.map((row) => ({
      ...{ name: row.name, categoryId: row.category_id, status: row.status },
      externalId: row.external_id ?? undefined,
      source: row.source === '' ? undefined : row.source,
      createdAt: row.created_at ?? undefined,
      updatedAt: row.updated_at ?? undefined,
      adoptedOn: row.adopted_on ?? undefined,
    })),
  schema: petRecordSchema,
  parseFast: parsePetFast,
  conflicts: () => new PetConflicts(),
  batchMax: petsPerStatement,
  apply: async (trx, pets, now) => countChanges(await applyPets(trx, pets, now, orders)),
  findChanges: findPetChanges,
  identitiesOf: petIdentities,
})
