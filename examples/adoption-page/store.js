import { Petstore } from './petstore-client.min.js'

// A publishable key can be public: it can only read, and only from the origins that it allows. With the plan "free", it
// allows 60 visits a minute and 1,000 a day, because a visit makes one request. For more: petstore keys update ID --plan pro
const baseUrl = 'http://127.0.0.1:8080/v1'
const apiKey = 'ps_live_...'

// A visitor should see a message soon, instead of waiting for the rate limit.
export const store = new Petstore({ baseUrl, apiKey, maxWaitMs: 5_000 })

/** The whole address of a photo, which can be relative to the address of the service. */
export const addressOf = (url) => new URL(url, new URL(baseUrl, location.href)).href
