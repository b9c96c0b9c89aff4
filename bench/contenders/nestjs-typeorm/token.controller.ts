import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common'
import { JwtService } from '@nestjs/jwt'
import { envelope, MESSAGES } from '../messages.js'
import { readSettings } from '../settings.js'
import { Login } from './book.dto.js'

const account = readSettings(process.env)

@Controller('token')
export class TokenController {
  constructor(private readonly jwt: JwtService) {}

  @Post()
  @HttpCode(200)
  async logIn(@Body() { username, password }: Login) {
    if (username !== account.username || password !== account.password) {
      throw new UnauthorizedException(MESSAGES.invalidCredentials)
    }
    return envelope(200, MESSAGES.tokenGenerated, { token: await this.jwt.signAsync({}) })
  }
}
