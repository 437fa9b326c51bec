/** Rows 15 to 19: listings, photos and adoption pages. */
const bareNode = { against: 'bare `node:http`, same response', kind: 'ratio' } as const
const memory = { against: '', kind: 'MB', isUnchecked: true } as const
const petPage = 'the page of pets by status, uncached'
const listings = { against: petPage, kind: 'factor', isUnchecked: true } as const
const medianListings = { ...listings, must: 5, aim: 2 } as const
const worstListings = { ...listings, must: 60, aim: 20 } as const
const largeWorst = { ...listings, isLargeRunOnly: true } as const
const largeListings = { ...listings, must: 10, aim: 4, isLargeRunOnly: true } as const
const pageOfAnimals = { against: 'row 1, same service', kind: 'ratio', must: 0.33, aim: 0.5 } as const

export const listingRows = {
  listings: { ...medianListings, id: '15a', what: 'listings of 100,000 pets, SQLite: median of the queries' },
  listingsWorst: { ...worstListings, id: '15b', what: 'the same, the slowest query' },
  listingsPostgres: { ...medianListings, id: '15c', what: 'row 15a on PostgreSQL' },
  listingsPostgresWorst: { ...worstListings, id: '15d', what: 'row 15b on PostgreSQL' },
  largeListings: { ...largeListings, id: '16a', what: 'row 15a with 1,000,000 pets' },
  largeListingsWorst: { ...largeWorst, id: '16b', what: 'the same, the slowest query' },
  largeListingsPostgres: { ...largeListings, id: '16c', what: 'row 16a on PostgreSQL' },
  largeListingsPostgresWorst: { ...largeWorst, id: '16d', what: 'row 16b on PostgreSQL' },
  photo: { id: '17', what: 'a photo of 640 pixels', ...bareNode, must: 0.4, aim: 0.7 },
  photoUploads: { ...memory, id: '18', what: 'memory (RSS) added by uploads of photos', must: 40, aim: 10 },
  adoptionPage: { ...pageOfAnimals, id: '19a', what: 'the adoption page with 24 animals, cached' },
  adoptionPages: {
    ...worstListings,
    id: '19b',
    what: 'adoption pages of 100,000 pets, uncached: the slowest',
  },
  adoptionPagesPostgres: { ...worstListings, id: '19c', what: 'row 19b on PostgreSQL' },
} as const
