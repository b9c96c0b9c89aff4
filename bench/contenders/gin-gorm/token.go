package main

import (
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt"
)

const tokenLifetime = 15 * time.Minute

var (
	username = os.Getenv("USERNAME")
	password = os.Getenv("PASSWORD")
	secret   = []byte(os.Getenv("SECRET_TOKEN"))
	parser   = jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}))
)

type login struct {
	Username *string `json:"username" binding:"required"`
	Password *string `json:"password" binding:"required"`
}

func logIn(c *gin.Context) {
	var input login
	if err := c.ShouldBindJSON(&input); err != nil {
		send(c, http.StatusBadRequest, "Invalid request payload", nil)
		return
	}
	if *input.Username != username || *input.Password != password {
		send(c, http.StatusUnauthorized, "Invalid credentials", nil)
		return
	}
	claims := jwt.MapClaims{"exp": time.Now().Add(tokenLifetime).Unix()}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
	if err != nil {
		fail(c, err)
		return
	}
	send(c, http.StatusOK, "Token generated successfully", gin.H{"token": token})
}

func requireToken(c *gin.Context) {
	text := c.GetHeader("Authorization")
	if text == "" {
		send(c, http.StatusUnauthorized, "Authorization token required", nil)
		c.Abort()
		return
	}
	key := func(*jwt.Token) (interface{}, error) { return secret, nil }
	if _, err := parser.Parse(text, key); err != nil {
		send(c, http.StatusUnauthorized, "Invalid token", nil)
		c.Abort()
	}
}
