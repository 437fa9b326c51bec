/** Hono on Bun with zod and bun:sqlite. */
import { Database } from 'bun:sqlite'
import { Hono } from 'hono'
import { databaseFile, openPets } from './pets.ts'
import { createRateLimiter } from './rateLimit.ts'
import { listQuery, newPet, petId } from './validation.ts'

const pets = openPets(new Database(databaseFile))
const countRequest = createRateLimiter()

const app = new Hono()
app.use(async (c, next) => {
  const [scheme, secret] = c.req.header('Authorization')?.split(' ') ?? []
  const key = scheme === 'Bearer' && secret ? pets.findKey(secret) : undefined
  if (!key) return c.json({ code: 'unauthorized', message: 'Send a valid key.' }, 401)
  const { isAllowed, limit, remaining, resetSeconds } = countRequest(key)
  c.header('X-RateLimit-Limit', String(limit))
  c.header('X-RateLimit-Remaining', String(remaining))
  c.header('X-RateLimit-Reset', String(resetSeconds))
  if (!isAllowed) return c.json({ code: 'rate_limited', message: 'Too many requests.' }, 429)
  await next()
})

app.get('/v1/pets', (c) => {
  const query = listQuery.safeParse(c.req.query())
  if (!query.success) return c.json({ code: 'validation_failed', details: query.error.issues }, 400)
  return c.json(pets.list(query.data.limit, query.data.status))
})

app.get('/v1/pets/:id', (c) => {
  const id = petId.safeParse(c.req.param('id'))
  const pet = id.success ? pets.find(id.data) : undefined
  return pet ? c.json(pet) : c.json({ code: 'not_found', message: 'There is no such pet.' }, 404)
})

app.post('/v1/pets', async (c) => {
  const body = newPet.safeParse(await c.req.json().catch(() => undefined))
  if (!body.success) return c.json({ code: 'validation_failed', details: body.error.issues }, 400)
  const pet = pets.create(body.data)
  return c.json(pet, 201, { Location: `/v1/pets/${pet.id}` })
})

const server = Bun.serve({
  port: Number(process.env.PORT ?? 0),
  hostname: '127.0.0.1',
  fetch: app.fetch,
})
console.log(`http://127.0.0.1:${server.port}`)
