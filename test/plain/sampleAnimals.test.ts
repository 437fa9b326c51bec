import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson, toJson } from '../../src/api/json.ts'
import { drawPhoto } from '../../src/commands/seed/drawPhoto.ts'
import { externalIdOf, lookOf, profileOf } from '../../src/commands/seed/sample.ts'
import { sampleAnimals } from '../../src/commands/seed/sampleAnimals.ts'
import { ageGroupAt, ageGroups, summaryOf } from '../../src/profiles/profile.ts'
import { profileUpdateSchema } from '../../src/profiles/schemas.ts'

const now = Date.now()
const profiles = sampleAnimals.map((sample) => profileOf(sample, now))

test('the profiles of sample animals are valid, complete and different', () => {
  for (const profile of profiles) {
    const parsed = profileUpdateSchema.parse(parseJson(toJson(profile)))
    assert.deepEqual(JSON.parse(toJson(parsed)), profile)
    const { species, breeds, colors, sex, size, birthDate, arrivedOn, fee, description } = profile
    for (const value of [species, breeds[0], colors[0], sex, size, birthDate, arrivedOn, fee, description])
      assert.ok(value, String(profile.externalId))
    assert.ok(String(birthDate) <= String(arrivedOn), `${profile.externalId} is born before it arrives`)
  }
  const valuesOf = <T>(read: (profile: (typeof profiles)[number]) => T) => new Set(profiles.map(read)).size
  assert.equal(new Set(sampleAnimals.map(externalIdOf)).size, sampleAnimals.length)
  assert.equal(
    valuesOf(({ description }) => description),
    sampleAnimals.length,
  )
  assert.equal(
    valuesOf((profile) => ageGroupAt(profile, now)),
    ageGroups.length,
  )
  assert.ok(valuesOf(({ species }) => species) >= 6)
  assert.ok(profiles.some(({ specialNeeds }) => specialNeeds))
  // The list shows all of it.
  for (const { description } of profiles) assert.equal(summaryOf(description), description)
})

test('bonds of sample animals are mutual, and a friend in a photo is bonded', () => {
  for (const { name, bondedWith, photos } of sampleAnimals) {
    const friend = sampleAnimals.find((sample) => sample.name === bondedWith)
    assert.equal(friend?.bondedWith, bondedWith === undefined ? undefined : name)
    if (photos.some((shot) => shot.endsWith(' friend'))) assert.ok(friend, name)
  }
})

test('every photo of the sample animals is another drawing', () => {
  const drawings = sampleAnimals.flatMap((sample) => {
    assert.ok(sample.photos.length >= 1 && sample.photos.length <= 4, sample.name)
    return sample.photos.map((shot) => drawPhoto(lookOf(sample), shot, lookOf(sample)))
  })
  assert.equal(new Set(drawings).size, drawings.length)
  for (const svg of drawings) {
    assert.doesNotMatch(svg, /undefined|NaN|null/)
    // A name that is no color would be invisible.
    for (const [, color] of svg.matchAll(/(?:fill|stroke|stop-color)="([^"]*)"/g))
      assert.match(String(color), /^(?:#[0-9a-f]{6}|none|url\(#[\w-]+\))$/)
    for (const [, id] of svg.matchAll(/url\(#([^)]+)\)/g)) assert.ok(svg.includes(` id="${id}"`), `${id}`)
  }
})
