import { identityCounter, type Resource } from '../records/resource.ts'
import { PetConflicts } from './conflicts.ts'
import { applyPets, findPetChanges, type PetOrders, petsPerStatement } from './importPets.ts'
import { type PetRecord, parsePetFast, petRecordSchema } from './record.ts'

export const petResource = (orders: PetOrders): Resource<PetRecord, 'pets'> => ({
  type: 'pet',
  countName: 'pets',
  nouns: ['animal', 'animals'],
  table: 'pets',
  idColumn: 'id',
  counter: identityCounter('lastPetId', 'pets'),
  positions: [30],
  toRecords: (rows) =>
    rows.map(({ name, category_id: categoryId, status, external_id: externalId }) => ({
      ...{ name, categoryId, status },
      ...(externalId !== null && { externalId }),
    })),
  schema: petRecordSchema,
  parseFast: parsePetFast,
  conflicts: () => new PetConflicts(),
  batchMax: petsPerStatement,
  apply: (trx, pets, now) => applyPets(trx, pets, now, orders),
  findChanges: findPetChanges,
  identitiesOf: ({ id, externalId }) => [id, externalId].filter((each) => each !== undefined),
})
