/** Express, zod, express-rate-limit and node:sqlite. */
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import express, { type NextFunction, type Request, type Response } from 'express'
import { rateLimit } from 'express-rate-limit'
import { databaseFile, type Key, openPets } from './pets.ts'
import { listQuery, newPet, petId } from './validation.ts'

const pets = openPets(new DatabaseSync(databaseFile))

type Locals = { key: Key }

const app = express()
app.use((request: Request, response: Response, next: NextFunction) => {
  const [scheme, secret] = request.headers.authorization?.split(' ') ?? []
  const key = scheme === 'Bearer' && secret ? pets.findKey(secret) : undefined
  if (!key) {
    response.status(401).json({ code: 'unauthorized', message: 'Send a valid key.' })
    return
  }
  response.locals.key = key
  next()
})
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: (_request, response) => (response.locals as Locals).key.perMinute,
    keyGenerator: (_request, response) => String((response.locals as Locals).key.id),
    legacyHeaders: true,
    standardHeaders: false,
  }),
)
app.use(express.json({ limit: '64kb' }))

app.get('/v1/pets', (request, response) => {
  const query = listQuery.safeParse(request.query)
  if (!query.success) {
    response.status(400).json({ code: 'validation_failed', details: query.error.issues })
    return
  }
  response.json(pets.list(query.data.limit, query.data.status))
})

app.get('/v1/pets/:id', (request, response) => {
  const id = petId.safeParse(request.params.id)
  const pet = id.success ? pets.find(id.data) : undefined
  if (!pet) {
    response.status(404).json({ code: 'not_found', message: 'There is no such pet.' })
    return
  }
  response.json(pet)
})

app.post('/v1/pets', (request, response) => {
  const body = newPet.safeParse(request.body)
  if (!body.success) {
    response.status(400).json({ code: 'validation_failed', details: body.error.issues })
    return
  }
  const pet = pets.create(body.data)
  response.status(201).location(`/v1/pets/${pet.id}`).json(pet)
})

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
